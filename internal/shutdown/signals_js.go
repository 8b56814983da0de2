package shutdown

import "os"

// endings is empty: a browser sends no signals, but ends the worker.
var endings []os.Signal
