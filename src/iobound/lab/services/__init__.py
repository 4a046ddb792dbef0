"""Databases and caches, one file each. A file defines ``Service``, which keeps to `iobound.lab.service.Service`."""
