package shutdown

import "os"

// endings are none: a browser sends no signals, it ends the worker.
var endings []os.Signal
