"""Private release: calibration, continual sums, prices and claims."""
