"""Tables larger than memory: cost against rows, engines, faults, and the plan for clusters."""
