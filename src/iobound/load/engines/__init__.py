"""Load engines, one file each. A file defines ``run(spec) -> LoadResult``."""
