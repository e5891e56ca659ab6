"""FCLUB as it should be: releases that keep their claim, and clusters as a mixture."""
