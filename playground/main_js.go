// Command playground is pausenet for a page in a browser: the script worker.js calls it, and gives it a file system in
// memory (files.js). It sets the global value pausenet, with functions that take and give JSON:
//
//	check(request)          what Check says of it
//	run(request, tell)      a promise of its outcome; tell is called with its progress
//	read(handIn)            what is wrong with a hand-in of an exercise
//	grade(handIn, tell)     a promise of what it comes to
//	watch(folder)           the file with the replay of a run
//	stop()                  the run that goes on ends soon, with what it has measured
//
// A call that panics gives a session.Bug, and the next call can be made.
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
			return session.Answer(func() any { return asked[session.HandIn](args).Read() })
		}),
		"grade": running(func(ctx context.Context, args []js.Value, tell func(session.Progress)) any {
			return asked[session.HandIn](args).Grade(ctx, version(), tell)
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
