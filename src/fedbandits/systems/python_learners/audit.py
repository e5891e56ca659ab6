def games(*a): return ()
def noise_checks(*a): return ()
