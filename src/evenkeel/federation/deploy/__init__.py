"""A federation on real machines: keys, proxy, service units, processes. What runs in them is one folder up."""
