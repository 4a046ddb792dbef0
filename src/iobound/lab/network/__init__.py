"""The network between a target and its service: a relay that makes a round trip take as long as over a real one."""
