package names

import (
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
)

// Check rejects names that lists cannot show.
func Check(what, name string, limit int) error {
	if p := Problem(name, limit); p != "" {
		return fault.New(fault.Invalid, "%s: %s", what, p)
	}
	return nil
}

// CheckText rejects descriptions and notes that are too long.
func CheckText(what, text string) error {
	if p := TooLong(text, MaxText); p != "" {
		return fault.New(fault.Invalid, "%s: %s", what, p)
	}
	return nil
}

// CheckTexts is CheckText for several texts by the names of their fields; nil is no text.
func CheckTexts(texts map[string]*string) error {
	for what, text := range texts {
		if err := CheckText(what, optional.Value(text)); err != nil {
			return err
		}
	}
	return nil
}

// CheckLabels rejects labels that lists cannot show, or that are too many or too long.
func CheckLabels(labels []string) error {
	at, p := LabelProblem(labels)
	switch {
	case p == "":
		return nil
	case at < 0:
		return fault.New(fault.Invalid, "labels: %s", p)
	}
	return fault.New(fault.Invalid, "labels: the label %q %s", fault.Clip(labels[at]), p)
}
