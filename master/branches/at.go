package branches

import (
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// At is a place in the life of a search.
type At struct {
	event int64 // 0: see the others
	trial int   // -1: none. Else the event that created this trial
	end   bool  // the last event
}

// ParseAt reads which event a request means: a number, end, or trial=17.
func ParseAt(text string) (At, error) {
	switch text = strings.TrimSpace(text); text {
	case "":
		return At{}, fault.New(fault.Invalid, "at: name the event to branch at: its number (see `det experiment events`), end, or trial=N for the event that created trial N")
	case "end":
		return At{trial: -1, end: true}, nil
	}
	if number, ok := strings.CutPrefix(text, "trial="); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return At{}, fault.New(fault.Invalid, "at: %q is not the number of a trial in its experiment, which begins with 0", fault.Clip(number))
		}
		return At{trial: n}, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return At{}, fault.New(fault.Invalid, "at: %q is not an event: give its number, which is at least 1, end, or trial=N", fault.Clip(text))
	}
	return At{event: n, trial: -1}, nil
}
