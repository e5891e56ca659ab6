"""Reports of runs, sweeps and audits, each one HTML file that needs nothing beside itself."""
