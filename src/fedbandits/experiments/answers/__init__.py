"""Does it pay? What learning together saves, beside learning alone, with intervals and in words."""
