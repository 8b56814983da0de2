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
	// cancellable returns a function that starts f and returns a promise of its result. stop cancels f.
	cancellable := func(f func(ctx context.Context, args []js.Value, tell func(session.Progress)) any) js.Func {
		return js.FuncOf(func(_ js.Value, args []js.Value) any {
			ctx, cancel := context.WithCancel(context.Background())
			stop = cancel
			return promise(func() any {
				defer cancel()
				return f(ctx, args, func(p session.Progress) {
					args[1].Invoke(session.Text(p))
					// The engine never yields by itself. This lets the script handle a message, such as stop.
					time.Sleep(time.Millisecond)
				})
			})
		})
	}
	js.Global().Set("pausenet", map[string]any{
		"check": js.FuncOf(func(_ js.Value, args []js.Value) any {
			return session.Answer(func() any { return session.Check(request[session.Request](args)) })
		}),
		"run": cancellable(func(ctx context.Context, args []js.Value, tell func(session.Progress)) any {
			return request[session.Request](args).Run(ctx, version(), tell)
		}),
		"read": js.FuncOf(func(_ js.Value, args []js.Value) any {
			return session.Answer(func() any { return request[session.Submission](args).Read() })
		}),
		"lock": js.FuncOf(func(_ js.Value, args []js.Value) any {
			return session.Answer(func() any { return request[session.Submission](args).Lock() })
		}),
		"grade": cancellable(func(ctx context.Context, args []js.Value, tell func(session.Progress)) any {
			return request[session.Submission](args).Grade(ctx, version(), tell)
		}),
		"watch": js.FuncOf(func(_ js.Value, args []js.Value) any {
			return session.Answer(func() any { return session.Watch(request[string](args)) })
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

// request decodes the script's request, its first argument. It panics if that is invalid: only the page's own script
// calls it.
func request[T any](args []js.Value) (r T) {
	if err := json.Unmarshal([]byte(args[0].String()), &r); err != nil {
		panic(err)
	}
	return r
}
