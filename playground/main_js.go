// Command playground runs pausenet for a page in a browser. The script worker.js calls it, and provides a file system
// in memory (files.js). The command sets the global value pausenet, with functions whose arguments and results are
// JSON:
//
//	check(request)          returns the result of session.Check
//	run(request, tell)      returns a promise of the outcome; calls tell with the progress
//	read(submission)        returns the mistakes in an exercise's submission
//	lock(submission)        returns its locked predictions
//	grade(submission, tell) returns a promise of its grade
//	watch(folder)           returns the file with the replay of a run
//	stop()                  ends the run in progress soon, and keeps its results so far
//
// If a call panics, it returns a session.Bug. Later calls still work.
package main

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"syscall/js"
	"time"

	"github.com/pausenet/pausenet/playground/session"
)

func main() {
	stop := func() {}
	// running is a function that begins something long, which stop ends.
	running := func(f func(ctx context.Context, args []js.Value, tell func(session.Progress)) any) js.Func {
		return js.FuncOf(func(_ js.Value, args []js.Value) any {
			ctx, cancel := context.WithCancel(context.Background())
			stop = cancel
			return promise(func() any {
				defer cancel()
				return f(ctx, args, func(p session.Progress) {
					args[1].Invoke(session.Text(p))
					// The engine does not give way by itself. Here the script may take a message: to stop, for one.
					time.Sleep(time.Millisecond)
				})
			})
		})
	}
	js.Global().Set("pausenet", map[string]any{
		"check": js.FuncOf(func(_ js.Value, args []js.Value) any {
			return session.Answer(func() any { return session.Check(asked[session.Request](args)) })
		}),
		"run": running(func(ctx context.Context, args []js.Value, tell func(session.Progress)) any {
			return asked[session.Request](args).Run(ctx, version(), tell)
		}),
		"read": js.FuncOf(func(_ js.Value, args []js.Value) any {
			return session.Answer(func() any { return asked[session.Submission](args).Read() })
		}),
		"lock": js.FuncOf(func(_ js.Value, args []js.Value) any {
			return session.Answer(func() any { return asked[session.Submission](args).Lock() })
		}),
		"grade": running(func(ctx context.Context, args []js.Value, tell func(session.Progress)) any {
			return asked[session.Submission](args).Grade(ctx, version(), tell)
		}),
		"watch": js.FuncOf(func(_ js.Value, args []js.Value) any {
			return session.Answer(func() any { return session.Watch(asked[string](args)) })
		}),
		"stop": js.FuncOf(func(js.Value, []js.Value) any { stop(); return nil }),
	})
	select {}
}

// version returns the version of pausenet.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}

// promise returns a JavaScript promise of f's result, in the form of session.Answer.
func promise(f func() any) js.Value {
	var executor js.Func
	executor = js.FuncOf(func(_ js.Value, args []js.Value) any {
		go func() {
			defer executor.Release()
			args[0].Invoke(session.Answer(f))
		}()
		return nil
	})
	return js.Global().Get("Promise").New(executor)
}

// asked returns the request of the script, its first argument. The script is the page's own.
func asked[T any](args []js.Value) (r T) {
	if err := json.Unmarshal([]byte(args[0].String()), &r); err != nil {
		panic(err)
	}
	return r
}
