"""FCLUB (Liu et al. 2022): users on servers, who fall into clusters that nobody knows."""
