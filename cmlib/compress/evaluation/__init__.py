"""How much smaller a series becomes and how far off it is when read back, beside other ways to make it smaller."""
