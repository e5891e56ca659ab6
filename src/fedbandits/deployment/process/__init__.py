"""A party's folder, the process that runs it, and all of them on one machine."""
