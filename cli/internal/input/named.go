package input

import (
	"regexp"

	"github.com/detent-ml/detent/master/fault"
)

// Named replaces the master's name of a document in an error, such as "config", by the name that the user knows. Positions
// stay, so the text that was sent must have the lines of the user's file.
func Named(err error, document, name string) error {
	if err == nil {
		return nil
	}
	text := NamedText(err.Error(), document, name)
	if text == err.Error() {
		return err
	}
	return fault.Wrap(fault.CodeOf(err), err, "%s", text)
}

// NamedText is Named for a text. The document's name begins a line, or follows the words before the only problem.
func NamedText(text, document, name string) string {
	at := regexp.MustCompile(`(?m)(^|: )` + regexp.QuoteMeta(document) + `:( |\d+:\d+: )`)
	return at.ReplaceAllStringFunc(text, func(found string) string {
		parts := at.FindStringSubmatch(found)
		return parts[1] + name + ":" + parts[2]
	})
}
