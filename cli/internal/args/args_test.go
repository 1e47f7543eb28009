package args_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
)

func TestIDs(t *testing.T) {
	for _, c := range []struct {
		given []string
		want  string
	}{
		{[]string{"1"}, "[1]"}, {[]string{"1,2", "3"}, "[1 2 3]"}, {[]string{" 4 , 5,"}, "[4 5]"},
		{[]string{"x"}, ""}, {[]string{"0"}, ""}, {[]string{"-1"}, ""}, {[]string{"1.5"}, ""}, {[]string{","}, ""}, {nil, ""},
	} {
		got, err := args.IDs("an experiment", c.given)
		if c.want == "" {
			if exit.Code(err) != exit.Usage {
				t.Errorf("%q: %v, %v; want a usage error", c.given, got, err)
			}
			continue
		}
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%q: %v, %v; want %s", c.given, got, err, c.want)
		}
	}
}

func TestNumberOfArguments(t *testing.T) {
	cmd := &cobra.Command{Use: "verb A B"}
	for _, c := range []struct {
		check   cobra.PositionalArgs
		given   []string
		problem string
	}{
		{args.None, nil, ""},
		{args.None, []string{"x"}, `takes no argument, but got "x"`},
		{args.Exactly("an ID", "a name"), []string{"1", "n"}, ""},
		{args.Exactly("an ID", "a name"), []string{"1"}, "verb needs a name"},
		{args.Exactly("an ID", "a name"), nil, "verb needs an ID"},
		{args.Exactly("an ID"), []string{"1", "2"}, `"2" is one argument too many`},
		{args.Between(1, "a file", "a folder"), []string{"f"}, ""},
		{args.Between(1, "a file", "a folder"), nil, "verb needs a file"},
		{args.AtLeastOne("an ID"), []string{"1", "2"}, ""},
		{args.AtLeastOne("an ID"), nil, "verb needs an ID"},
	} {
		err := c.check(cmd, c.given)
		if c.problem == "" {
			if err != nil {
				t.Errorf("%q: %v", c.given, err)
			}
			continue
		}
		if exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%q: %v, want %q", c.given, err, c.problem)
		}
	}
}

func TestOneOf(t *testing.T) {
	o := args.OneOf{Value: "all", Allowed: []string{"1", "all"}}
	if err := o.Set("ALL"); err != nil || o.String() != "all" {
		t.Errorf("%v, %q", err, o.String())
	}
	if err := o.Set("2"); err == nil || err.Error() != "it must be one of 1, all" || o.Value != "all" {
		t.Errorf("%v, %q", err, o.Value)
	}
}
