"""Backends: threads of this process, or the workers of a cluster, which play replicates."""
