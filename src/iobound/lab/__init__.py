"""What surrounds a target: services, environments, processes, cores, the machine and its noise."""
