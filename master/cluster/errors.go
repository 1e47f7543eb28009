package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// kind classifies an error of Nomad.
type kind int

const (
	unclear kind = iota // no answer, or an error of the server itself
	exists              // a job with this id exists
	denied              // the token lacks a right
	invalid             // Nomad will never accept the request
)

// answers classifies Nomad's errors. Nomad answers nearly all errors with status 500, so
// the text decides; the first matching row counts. Errors that match no row are retried:
// most of them mean that Nomad's servers have no leader at the moment. A test checks each
// row with a real server.
var answers = []struct {
	status int
	text   string // part of the body; "" for any
	kind   kind
}{
	{http.StatusInternalServerError, "Enforcing job modify index 0: job already exists", exists},
	{http.StatusInternalServerError, " error occurred:", invalid}, // a list of errors in the job
	{http.StatusInternalServerError, " errors occurred:", invalid},
	{http.StatusInternalServerError, "No path to region", invalid},
	{http.StatusBadRequest, "", invalid},
	{http.StatusForbidden, "", denied},
}

func kindOf(err error) kind {
	body := rawBody(err)
	for _, row := range answers {
		if row.status == statusOf(err) && strings.Contains(body, row.text) {
			return row.kind
		}
	}
	return unclear
}

// outcomeOf turns an error into an outcome and a message for users; what names the object.
func outcomeOf(err error, what string) (Outcome, error) {
	switch kindOf(err) {
	case invalid:
		return Refused, fmt.Errorf("nomad refuses %s: %s", what, bodyOf(err))
	case denied:
		return TryAgain, fmt.Errorf("nomad does not allow the master to change %s (%s): its token needs the capability submit-job", what, bodyOf(err))
	}
	if status := statusOf(err); status != 0 {
		return TryAgain, fmt.Errorf("nomad did not accept %s: %s (status %d)", what, bodyOf(err), status)
	}
	return TryAgain, fmt.Errorf("nomad did not accept %s: %w", what, err)
}

// statusOf is the HTTP status of an error; 0 without an answer.
func statusOf(err error) int {
	if e, ok := errors.AsType[api.UnexpectedResponseError](err); ok {
		return e.StatusCode()
	}
	return 0
}

// bodyOf is the text of an error, on one line.
func bodyOf(err error) string { return oneLine(rawBody(err)) }

// rawBody is the body of Nomad's answer, or the error's text if there is no answer.
func rawBody(err error) string {
	if e, ok := errors.AsType[api.UnexpectedResponseError](err); ok && e.HasBody() {
		return e.Body()
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

var listHeader = regexp.MustCompile(`\d+ errors? occurred:$`)

// oneLine folds the nested lists in which Nomad reports problems: "2 errors
// occurred:" over bullets, which may be such lists again.
func oneLine(text string) string {
	var b strings.Builder
	glue := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		bullet := strings.HasPrefix(line, "*")
		line = strings.TrimSpace(strings.TrimPrefix(line, "*"))
		said := strings.TrimSpace(listHeader.ReplaceAllString(line, ""))
		if said == "" {
			continue
		}
		if b.Len() > 0 {
			if glue == "" && bullet {
				glue = "; "
			} else if glue == "" {
				glue = " "
			}
			b.WriteString(glue)
		}
		b.WriteString(said)
		glue = ""
		if said != line {
			glue = " " // the next line continues this sentence
		}
	}
	return b.String()
}

// NoRoom is the error of an attempt that Nomad cannot place on the nodes that Detent's
// scheduler chose.
type NoRoom struct {
	Nodes  []string // ids
	Reason string
}

// Error is for users.
func (e *NoRoom) Error() string { return e.Reason }
