package session

import (
	"encoding/json"
	"fmt"

	"github.com/pausenet/pausenet/internal/blame"
)

// Bug holds the answer to a call that panicked.
type Bug struct {
	// Message names the panic in one sentence.
	Message string `json:"bug"`
	// Stack holds the stack for the browser's console.
	Stack string `json:"stack"`
}

// Answer returns f's result in JSON, or a Bug if f panics.
func Answer(f func() any) (answer string) {
	defer func() {
		if recovered := recover(); recovered != nil {
			value, stack, _ := blame.Of(recovered)
			answer = Text(Bug{fmt.Sprintf("this is a bug of pausenet, please report it with what is in the editors: panic: %v",
				value), string(stack)})
		}
	}()
	return Text(f())
}

// Text returns a value in JSON.
func Text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
