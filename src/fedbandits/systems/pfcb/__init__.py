"""P-FCB (Solanki et al. 2022): buyers that learn producers' qualities, under a constraint."""
