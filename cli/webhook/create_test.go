package webhook

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/fault"
)

// TestMistakesInFlags: all at once, and in the words of the command line.
func TestMistakesInFlags(t *testing.T) {
	_, err := createOptions{states: []string{"done", "error"}, logs: []string{"a(", "ok"}, metrics: []string{"loss", "loss>1"}, custom: true}.triggers()
	want := []string{
		"--state done: expected one of ACTIVE, PAUSED, COMPLETED, CANCELED, ERROR", "--log a(: missing closing ): `a(`",
		"--metric: expected a metric with > or < and a number, such as 'accuracy>0.9', found loss", "--custom needs --specific: ",
	}
	if err == nil || exit.Code(err) != exit.Usage {
		t.Fatalf("%v", err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d mistakes:\n%s", len(lines), err)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("got  %s\nwant %s", lines[i], want[i])
		}
	}
	list, err := createOptions{states: []string{"error"}, logs: []string{"CUDA"}}.triggers()
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	for text, want := range map[string]string{
		"triggers[1]: condition.regex: too large": "--log CUDA: too large",
		"triggers[0]: triggerType: x":             "--state error: triggerType: x",
		"url: not allowed":                        "URL: not allowed",
		"no such thing":                           "no such thing",
	} {
		if got := explained(fault.New(fault.Invalid, "%s", text), list); got.Error() != want || !fault.Is(got, fault.Invalid) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
