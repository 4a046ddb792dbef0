"""What the bulk load loads: the census's records, or made ones of the same shape, and the tables that they go into."""
