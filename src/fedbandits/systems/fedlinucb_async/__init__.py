"""FedLinUCB (He et al. 2022): agents that exchange with a server one by one, in clear."""
