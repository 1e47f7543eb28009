package headers

import "net/http"

// FinalAnswers sends no informational answers (1xx) of a program: their headers reach the client as they are,
// because a reverse proxy passes them on before anything can confine them.
type FinalAnswers struct{ http.ResponseWriter }

// WriteHeader sends the head of the final answer.
func (w FinalAnswers) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap gives http.ResponseController the writer that flushes.
func (w FinalAnswers) Unwrap() http.ResponseWriter { return w.ResponseWriter }
