"""Turns a plan into raw observations; decides when precision suffices. Never judges."""
