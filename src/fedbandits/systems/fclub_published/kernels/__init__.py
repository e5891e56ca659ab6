"""What a published FCLUB server and the global one compute, as compiled functions on arrays."""
