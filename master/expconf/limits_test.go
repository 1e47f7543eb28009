package expconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/document"
)

// number is a numeric field of a document, by its path.
type numberField struct {
	path  []string
	whole bool
}

// numbersOf lists the numeric fields of a struct and of its nested structs.
func numbersOf(t reflect.Type, path []string, out *[]numberField) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[Length](), reflect.TypeFor[ByteSize](), reflect.TypeFor[Duration]():
		*out = append(*out, numberField{path: path, whole: t != reflect.TypeFor[Duration]()})
		return
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint32:
		*out = append(*out, numberField{path: path, whole: true})
	case reflect.Float64:
		*out = append(*out, numberField{path: path})
	case reflect.Slice:
		numbersOf(t.Elem(), append(path[:len(path):len(path)], "[]"), out)
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface || t == reflect.TypeFor[Hyperparameters]() {
			return // free values, and hyperparameters have a test of their own
		}
		numbersOf(t.Elem(), append(path[:len(path):len(path)], "k"), out)
	case reflect.Struct:
		for _, f := range sectionOf(t).fields {
			numbersOf(t.Field(f.index).Type, append(path[:len(path):len(path)], f.name), out)
		}
	}
}

// put makes a document with a number at a path, and with the fields that its sections require.
func put(path []string, number string) string {
	if len(path) == 0 {
		return number
	}
	if path[0] == "[]" {
		return "[" + put(path[1:], number) + "]"
	}
	return "{" + path[0] + ": " + put(path[1:], number) + "}"
}

// searcherOf returns a searcher that has a field.
func searcherOf(field string) string {
	s := sectionOf(reflect.TypeFor[Searcher]())
	for _, m := range s.union.members {
		if i, ok := s.byName[field]; ok && s.fields[i].of != nil && slices.Contains(s.namesOf(m), field) {
			return m
		}
	}
	return ""
}

// TestEveryNumberHasALimit finds all numeric fields with reflection, so that it also tests fields that
// are added later. Each number must have bounds, and a number beyond them must be rejected with its
// path.
func TestEveryNumberHasALimit(t *testing.T) {
	tests := 0
	check := func(kind string, f numberField, parse func(string) error, write func(number string) string) {
		name := kind + " " + strings.Join(f.path, ".")
		for _, number := range []string{"1e18", "-1e18", "9223372036854775807", "-9223372036854775808", "1e400", ".nan", ".inf", "-.inf"} {
			tests++
			err := parse(write(number))
			var problems document.Errors
			if err == nil {
				t.Errorf("%s: %s is accepted", name, number)
			} else if !errors.As(err, &problems) {
				t.Errorf("%s: %s: %v", name, number, err)
			}
			for _, p := range problems {
				if p.Line < 1 || p.Column < 1 {
					t.Errorf("%s: %s: no place in %q", name, number, p)
				}
			}
		}
	}
	const plain = "name: n\nentrypoint: e\ncheckpoint_storage: {type: shared_fs, host_path: /x}\n"
	var fields []numberField
	numbersOf(reflect.TypeFor[Raw](), nil, &fields)
	for _, f := range fields {
		switch f.path[0] {
		case "searcher":
			name := searcherOf(f.path[1])
			common := f.path[1] == "source_trial_id"
			if name == "" && !common {
				continue // of a searcher that no longer exists
			}
			if common {
				name = Single
			}
			check("experiment", f, parseWhole, func(number string) string {
				return plain + "searcher: {name: " + name + ", metric: m, " + strings.TrimPrefix(put(f.path[1:], number), "{") + "\n"
			})
		case "checkpoint_storage":
			check("experiment", f, parseWhole, func(number string) string {
				return "name: n\nentrypoint: e\nsearcher: {name: single, metric: m}\ncheckpoint_storage: {type: shared_fs, host_path: /x, " +
					strings.TrimPrefix(put(f.path[1:], number), "{") + "\n"
			})
		default:
			check("experiment", f, parseWhole, func(number string) string {
				return plain + "searcher: {name: single, metric: m}\n" + f.path[0] + ": " + put(f.path[1:], number) + "\n"
			})
		}
	}
	fields = nil
	numbersOf(reflect.TypeFor[RawCommand](), nil, &fields)
	for _, f := range fields {
		check("task", f, func(doc string) error {
			raw, _, err := ParseCommand("t.yaml", []byte(doc))
			if err != nil {
				return err
			}
			c, err := CompleteCommand(raw, CommandDefaults{Description: "x"})
			if err != nil {
				return err
			}
			return c.Validate(false)
		}, func(number string) string { return f.path[0] + ": " + put(f.path[1:], number) + "\n" })
	}
	if tests < 8*50 {
		t.Fatalf("only %d numbers were tried", tests)
	}
}

func parseWhole(doc string) error {
	raw, _, err := Parse("t.yaml", []byte(doc))
	if err != nil {
		return err
	}
	c, err := Complete(raw, ClusterDefaults{Name: "x"})
	if err != nil {
		return err
	}
	return c.Validate()
}

// TestHyperparametersAreFinite: every drawn value and every point of a grid is a number that JSON can
// represent.
func TestHyperparametersAreFinite(t *testing.T) {
	const head = "name: n\nentrypoint: e\ncheckpoint_storage: {type: shared_fs, host_path: /x}\nsearcher: {name: random, metric: m, max_trials: 2, max_length: 1}\nhyperparameters:\n"
	for _, test := range []struct{ doc, want string }{
		{"  a: {type: log, base: 10, minval: 400, maxval: 500}", "t.yaml:6:36: hyperparameters.a.minval: 10 to the power of 400 is too large for a number; minval and maxval are exponents; with this base they are from -300 to 300"},
		{"  a: {type: log, base: 10, minval: -1, maxval: 500}", "t.yaml:6:48: hyperparameters.a.maxval: 10 to the power of 500 is too large"},
		{"  a: {type: log, base: 10, minval: -500, maxval: 1}", "t.yaml:6:36: hyperparameters.a.minval: 10 to the power of -500 is too small"},
		{"  a: {type: log, base: 1e-200, minval: -3, maxval: 1}", "too large"},
		{"  a: {type: log, base: 1e400, minval: 0, maxval: 1}", "expected a finite number"},
		{"  a: {type: log, base: -1, minval: 0, maxval: 1}", "hyperparameters.a.base: must be greater than 0"},
		{"  a: {type: double, minval: -1.7e308, maxval: 1.7e308}", "t.yaml:6:29: hyperparameters.a.minval: must be from -1e+300 to 1e+300, found -1.7e+308"},
		{"  a: {type: double, minval: 0, maxval: .inf}", "expected a finite number"},
		{"  a: {type: int, minval: 0, maxval: 1e17}", "t.yaml:6:37: hyperparameters.a.maxval: expected an integer, found the number 1e17"},
		{"  a: {b: {c: {type: log, base: 10, minval: 400, maxval: 500}}}", "hyperparameters.a.b.c.minval: 10 to the power of 400"},
		{"  a: {type: categorical, vals: [1, {x: [.nan]}]}", "expected a finite number"},
		{"  a: {type: const, val: {x: [1e999]}}", "expected a finite number"},
		{"  a: [.inf]", "expected a finite number"},
		{"  a: {type: double, minval: 0, maxval: 1, count: 1e9}", "hyperparameters.a.count: must be from 1 to 1000000, found 1000000000"},
		{"  a: {type: categorical, vals: [" + strings.TrimSuffix(strings.Repeat("1,", 10_001), ",") + "]}", "has 10001 values; at most 10000 are allowed"},
	} {
		err := parseWhole(head + test.doc + "\n")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n got: %v\nwant: %s", document.Clip(test.doc), err, test.want)
		}
	}
	grid := strings.Replace(head, "{name: random, metric: m, max_trials: 2, max_length: 1}", "{name: grid, metric: m, max_length: 1}", 1)
	big := grid
	for i := range 400 { // 1000^400 overflows
		big += fmt.Sprintf("  h%d: {type: double, minval: 0, maxval: 1, count: 1000}\n", i)
	}
	if err := parseWhole(big); err == nil || !strings.Contains(err.Error(), "the grid has +Inf points, each of them a trial; at most 100000 are run") {
		t.Errorf("a grid of 1000^400 points: %v", err)
	}
	// Values that Determined documents are accepted.
	for _, doc := range []string{
		"  a: {type: log, base: 10, minval: -5, maxval: -1}", "  a: {type: log, base: 2.718, minval: -20.5, maxval: 20}",
		"  a: {type: double, minval: -1e9, maxval: 1e9}", "  a: {type: int, minval: -2147483648, maxval: 2147483647}",
		"  a: {type: log, base: 1, minval: 0, maxval: 0}", "  a: {type: log, base: 0.5, minval: 1, maxval: 10}",
	} {
		if err := parseWhole(head + doc + "\n"); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

// TestSearchesAreBounded: the plan of a search has bounds for the number of its trials, their rows and
// their memory.
func TestSearchesAreBounded(t *testing.T) {
	big := strings.Repeat("x", 50_000)
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, "  h%d: {type: double, minval: 0, maxval: 1}\n", i)
	}
	for _, test := range []struct{ searcher, hparams, want string }{
		{"name: random, max_trials: 1000000000, max_concurrent_trials: 0", "", "t.yaml:3:49: searcher.max_trials: must be from 1 to 100000, found 1000000000"},
		{"name: random, max_trials: 5, max_concurrent_trials: 100000", "", "searcher.max_concurrent_trials: must be from 0 to 10000, found 100000"},
		{"name: async_halving, max_trials: 5, num_rungs: 1000000, max_length: 1", "", "searcher.num_rungs: must be from 1 to 100, found 1000000"},
		{"name: async_halving, max_trials: 100000, num_rungs: 6, max_length: 1", "", "searcher.num_rungs: 100000 trials with 6 rungs make 600000 results"},
		{"name: adaptive_asha, max_trials: 5, max_rungs: 101, max_length: 1", "", "searcher.max_rungs: must be from 0 to 100, found 101"},
		{"name: adaptive_asha, max_trials: 5, bracket_rungs: [1, 5000], max_length: 1", "", "searcher.bracket_rungs[1]: must be from 1 to 100, found 5000"},
		{"name: adaptive_asha, max_trials: 5, divisor: 1e7, max_length: 1", "", "searcher.divisor: must be greater than 1 and at most 1000000, found 1e+07"},
		{"name: adaptive_asha, max_trials: 5, max_length: {batches: 1e16}", "", "searcher.max_length.batches"},
		{"name: random, sampler: program, max_trials: 10001", "", "searcher.max_trials: a program proposes at most 10000 trials, found 10001"},
		{"name: random, sampler: ask, max_trials: 5", "", `searcher.sampler: cannot be "ask"`},
		{"name: random, sampler: tpe, max_trials: 10001", "", "searcher.max_trials: the sampler tpe plans at most 10000 trials, found 10001"},
		{"name: random, sampler: tpe, max_trials: 10000", many.String(), "hyperparameters: 10000 trials with 30 hyperparameters that vary make 300000 values; at most 250000"},
		{"name: random, max_trials: 100000", "  a: " + big + "\n", "100000 trials with up to 50031 bytes of hyperparameters each take 5003100000 bytes; at most 2147483648 are stored"},
		{"name: single, max_length: {batches: 1}", "  g:\n    a: " + strings.Repeat("x", 66_000) + "\n", ":7:8: hyperparameters.g.a: the hyperparameters of one trial have up to 66016 bytes, 66002 of them in the largest; at most 65536 are allowed"},
		{"name: custom", "  a: " + big + "\n  b: {type: categorical, vals: [1, " + big + "]}\n", "hyperparameters.a: the hyperparameters of one trial have up to"},
		{"name: pbt, population_size: 10001, num_rounds: 1, length_per_round: 1, replace_function: {truncate_fraction: 0}, explore_function: {resample_probability: 0, perturb_factor: 0}", "", "searcher.population_size: must be from 1 to 10000"},
		{"name: pbt, population_size: 10000, num_rounds: 100, length_per_round: 1, replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0, perturb_factor: 0}", "", "searcher.num_rounds: 100 rounds make 505000 trials; at most 100000 are run"},
		{"name: pbt, population_size: 2, num_rounds: 100000, length_per_round: 1e12, replace_function: {truncate_fraction: 0}, explore_function: {resample_probability: 0, perturb_factor: 0}", "", "searcher.length_per_round: 100000 rounds of 1000000000000 are longer than"},
	} {
		doc := "name: n\nentrypoint: e\nsearcher: {metric: m, " + test.searcher + "}\ncheckpoint_storage: {type: shared_fs, host_path: /x}\n"
		if test.hparams != "" {
			doc += "hyperparameters:\n" + test.hparams
		}
		err := parseWhole(doc)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n got: %s\nwant: %s", test.searcher, document.ClipTo(fmt.Sprint(err), 300), test.want)
		}
	}
}

// TestWhatIsAcceptedCanBeReadBack: every accepted configuration can be stored and read, although
// defaults, escapes and merging make it larger and deeper.
func TestWhatIsAcceptedCanBeReadBack(t *testing.T) {
	const head = "name: n\nentrypoint: e\nsearcher: {name: single, metric: m}\ncheckpoint_storage: {type: shared_fs, host_path: /x}\n"
	variables := "environment:\n  environment_variables:\n"
	for i := range 1000 {
		variables += fmt.Sprintf("  - V%d=%s\n", i, strings.Repeat("v", 200))
	}
	for name, test := range map[string]struct {
		doc  string
		want string // "" if it is accepted
	}{
		"escapes":    {"data: {x: '" + strings.Repeat("<", 150_000) + "'}\n", ""},
		"too long":   {"data: {x: '" + strings.Repeat("<", 500_000) + "'}\n", "the complete configuration has 3001"},
		"depth":      {"hyperparameters:\n  x: " + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "\n", ""},
		"variables":  {variables, ""},
		"long alias": {"data:\n  a: &a " + strings.Repeat("x", 100_000) + "\n  b: [" + strings.TrimSuffix(strings.Repeat("*a,", 10_000), ",") + "]\n", "more than 1048576 bytes of text, aliases counted each time they are used"},
	} {
		t.Run(name, func(t *testing.T) {
			raw, _, err := Parse("t.yaml", []byte(head+test.doc))
			var c Config
			if err == nil {
				if c, err = Complete(raw, ClusterDefaults{Name: "x"}); err != nil {
					t.Fatal(err)
				}
				err = c.Validate()
			}
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("got %s, want %s", document.ClipTo(fmt.Sprint(err), 300), test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(document.ClipTo(err.Error(), 300))
			}
			b, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ParseConfigJSON(b); err != nil {
				t.Fatalf("%d bytes cannot be read back: %v", len(b), document.ClipTo(err.Error(), 300))
			}
		})
	}
}

// TestAStoredSearchKeepsItsRevision tests that a configuration that an earlier release stored is of revision 1, and
// that a new one says which revision it is of.
func TestAStoredSearchKeepsItsRevision(t *testing.T) {
	const stored = `{"name":"x","reproducibility":{"experiment_seed":1},"searcher":{"name":"adaptive_asha","metric":"m","max_trials":9,"max_length":{"batches":9}%s}}`
	for more, want := range map[string]Searcher{
		``:                               {Revision: 1, Sampler: Uniform},
		`,"sampler":"tpe","max_rungs":5`: {Revision: 1, Sampler: TPE, MaxRungs: 5},
		`,"sampler":"tpe","revision":2`:  {Revision: 2, Sampler: TPE},
	} {
		c, err := ParseConfigJSON(fmt.Appendf(nil, stored, more))
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Searcher; s.Revision != want.Revision || s.Sampler != want.Sampler || s.MaxRungs != want.MaxRungs {
			t.Errorf("%s: revision %d, sampler %s, max_rungs %d", more, s.Revision, s.Sampler, s.MaxRungs)
		}
		b, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseConfigJSON(b); err != nil || again.Searcher.Revision != want.Revision {
			t.Errorf("%s: stored again, it is of revision %d (%v)", more, again.Searcher.Revision, err)
		}
	}
}

// TestPriorsWithoutEffect: the sampler of random searches learns where a hyperparameter has a prior, and a warning names priors that
// nothing uses.
func TestPriorsWithoutEffect(t *testing.T) {
	for searcher, want := range map[string]string{
		"name: random, max_trials: 9":                  "",
		"name: random, max_trials: 9, sampler: random": "x.yaml:2:77: hyperparameters.g.a.prior: has no effect: only the sampler tpe uses priors; use random, adaptive_asha or async_halving, without sampler: random",
		"name: grid": "hyperparameters.g.a.prior: has no effect",
	} {
		raw, _, err := Parse("x.yaml", []byte("entrypoint: e\nhyperparameters: {g: {a: {type: int, minval: 1, maxval: 3, count: 3, prior: 2}}}\nsearcher: {metric: m, "+searcher+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := Complete(raw, ClusterDefaults{Name: "x"})
		if err != nil || cfg.ValidateSearch() != nil {
			t.Fatal(err, cfg.ValidateSearch())
		}
		if got := strings.Join(cfg.Unhonoured(Everything()).Strings(), "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q", searcher, got)
		}
	}
}
