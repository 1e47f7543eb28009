package search

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/lifecycle"
)

// proposing has searches whose trials a program proposes, with their maximum number of trials (without those with
// invalid hyperparameters) and of running trials.
var proposing = []struct {
	searcher string
	trials   int
	workers  int
}{
	{"{name: random, metric: loss, max_trials: 9, max_concurrent_trials: 3, max_length: {batches: 8}, sampler: program}", 9, 3},
	{"{name: random, metric: loss, max_trials: 5, max_concurrent_trials: 2, sampler: program, start_with: [{n: 2}, {lr: 0.5, n: 3}, {}]}", 5, 2},
	{"{name: async_halving, metric: loss, num_rungs: 3, divisor: 2, max_trials: 12, max_concurrent_trials: 4, max_length: {batches: 8}, sampler: program}", 12, 4},
	{"{name: async_halving, metric: loss, num_rungs: 3, divisor: 2, max_trials: 12, max_concurrent_trials: 4, max_length: {batches: 8}, stop_once: true, sampler: program}", 12, 4},
	{"{name: async_halving, metric: loss, num_rungs: 4, divisor: 2, max_trials: 20, max_concurrent_trials: 4, max_length: {batches: 8}, progressive: true, sampler: program}", 20, 4},
	{"{name: adaptive_asha, metric: loss, mode: conservative, divisor: 2, max_trials: 14, max_concurrent_trials: 5, max_length: {batches: 8}, sampler: program, start_with: [{}]}", 14, 5},
	{"{name: adaptive_asha, metric: loss, divisor: 2, bracket_rungs: [1, 2, 3], max_trials: 14, max_concurrent_trials: 6, max_length: {batches: 8}, sampler: program}", 14, 6},
	{"{name: adaptive_asha, metric: loss, divisor: 3, max_trials: 14, max_concurrent_trials: 0, max_length: {batches: 9}, stop_once: true, sampler: program}", 14, 14},
}

// proposed is a proposal of values of the space of the tests, whose kind is x or, as y is in YAML, true.
func proposed(key string, lr float64, n int, kind any) Proposal {
	return Proposal{Key: key, HParams: json.RawMessage(fmt.Sprintf(`{"lr": %g, "n": %d, "g": {"kind": %s}}`, lr, n, text(kind)))}
}

// drawTold draws an event with proposals, some of them twice, and sometimes the end of the search.
func drawTold(r *rapid.T, s *Search, count *int) Event {
	body := Proposals{Last: rapid.IntRange(0, 30).Draw(r, "last") == 0}
	for range rapid.IntRange(0, min(3, s.Room())).Draw(r, "proposals") {
		if *count > 0 && rapid.IntRange(0, 9).Draw(r, "again") == 0 {
			body.List = append(body.List, body.List...)
			continue
		}
		*count++
		body.List = append(body.List, proposed(fmt.Sprint("p", *count), math.Pow(10, rapid.Float64Range(-4, 0).Draw(r, "lr")),
			rapid.IntRange(1, 4).Draw(r, "n"), rapid.SampledFrom([]any{"x", true}).Draw(r, "kind")))
	}
	return event(s.Seq()+1, Told, 0, body)
}

// describeProgram describes what a program sees of a search, and the search itself.
func describeProgram(s *Search, history []Event) string {
	news, _ := json.Marshal(s.News(-1, s.Seq(), history))
	return fmt.Sprintf("%s\nfree %d, room %d, queued %d\n%s", describeSearch(s), s.Free(), s.Room(), s.Queued(), news)
}

// TestPromisesToPrograms applies random events and proposals in random order. A search must not exceed its numbers of trials and
// of running trials, must give each accepted proposal to one trial, must end after the last proposal, and must be the same if its
// events are applied again, from any prefix on. A program that reads its news in parts must see the same as one that reads all.
func TestPromisesToPrograms(t *testing.T) {
	for _, k := range proposing {
		t.Run(k.searcher, func(t *testing.T) {
			cfg := configOf(t, "searcher: "+k.searcher+space)
			rapid.Check(t, func(r *rapid.T) {
				s, prefix := begin(r, cfg), begin(r, cfg)
				cut := rapid.IntRange(0, 60).Draw(r, "cut")
				var history []Event
				steps, invalid, count := map[int]int{}, 0, 0
				for {
					e, more := next(r, s, steps)
					if status, _ := s.Status(); !more && status != lifecycle.Searching {
						break
					}
					if !more || rapid.IntRange(0, 5).Draw(r, "who") == 0 {
						e = drawTold(r, s, &count)
					}
					apply(r, s, e)
					if history = append(history, e); len(history) <= cut {
						apply(r, prefix, e)
					}
					if string(e.Body) == `{"reason":"invalid_hp"}` {
						invalid++
					}
					checkProgram(r, s, k.trials+invalid, k.workers)
					if len(history) > 5000 {
						r.Fatal("the search does not end")
					}
				}
				if s.Queued() > 0 && invalid == 0 {
					r.Fatalf("%d proposals have no trial", s.Queued())
				}
				again := begin(r, cfg)
				for i, e := range history {
					apply(r, again, e)
					if i >= cut {
						apply(r, prefix, e)
					}
				}
				if a, b, c := describeProgram(s, history), describeProgram(again, history), describeProgram(prefix, history); a != b || a != c {
					r.Fatalf("first:\n%s\nagain:\n%s\nfrom a prefix on:\n%s", a, b, c)
				}
				readInParts(r, s, history)
			})
		})
	}
}

func checkProgram(r *rapid.T, s *Search, trials, workers int) {
	if n := s.Len() + s.Queued(); n > trials {
		r.Fatalf("%d trials and %d proposals, %d are allowed", s.Len(), s.Queued(), trials)
	}
	running := wantsToRun(s)
	if running > workers {
		r.Fatalf("%d trials are wanted to run, %d are allowed", running, workers)
	}
	if s.Free() > 0 && s.Queued() > 0 {
		r.Fatalf("%d proposals wait although the search wants %d", s.Queued(), s.Free())
	}
	if s.Free() > s.Room() {
		r.Fatalf("the search wants %d proposals and accepts %d", s.Free(), s.Room())
	}
	if s.Starved() && running > 0 {
		r.Fatalf("the search is starved, and %d trials run", running)
	}
	if p := s.Progress(nil); p < 0 || p > 1 {
		r.Fatalf("progress %v", p)
	}
	seen := map[string]bool{}
	for _, x := range s.trialSet.program.trials {
		if x.key != "" && seen[x.key] {
			r.Fatalf("two trials have the proposal %s", x.key)
		}
		seen[x.key] = true
	}
}

// readInParts reads the news in parts of random size.
func readInParts(r *rapid.T, s *Search, history []Event) {
	var all News
	for after := int64(-1); after < s.Seq(); {
		until := min(s.Seq(), max(after, 0)+int64(rapid.IntRange(1, 9).Draw(r, "events")))
		until = s.Page(after, until, rapid.IntRange(1, 4).Draw(r, "trials"), rapid.IntRange(0, 200).Draw(r, "bytes"))
		if until <= after {
			r.Fatalf("the news after %d are read up to %d", after, until)
		}
		part := s.News(after, until, history)
		all.Trials, all.Results = append(all.Trials, part.Trials...), append(all.Results, part.Results...)
		after = until
	}
	a, _ := json.Marshal(all)
	b, _ := json.Marshal(s.News(-1, s.Seq(), history))
	if string(a) != string(b) {
		r.Fatalf("in parts:\n%s\nat once:\n%s", a, b)
	}
	if len(all.Trials) != s.Len() {
		r.Fatalf("%d trials, and news of %d", s.Len(), len(all.Trials))
	}
}

// propose applies proposals, which must be valid.
func propose(t testing.TB, s *Search, body Proposals) {
	t.Helper()
	fresh, wrong := s.CheckProposals(body)
	if len(wrong) > 0 {
		t.Fatalf("%+v", wrong)
	}
	if err := s.Apply(event(s.Seq()+1, Told, 0, fresh)); err != nil {
		t.Fatal(err)
	}
}

const askedSearch = "searcher: {metric: m, name: random, max_trials: 4, max_concurrent_trials: 2, sampler: program}\n"

// TestProposalsAreChecked: what is wrong with a proposal is said with the hyperparameter and what would be right.
func TestProposalsAreChecked(t *testing.T) {
	cfg := configOf(t, "entrypoint: e\n"+strings.Replace(askedSearch, "sampler", richConstraints+", sampler", 1)+richSpace)
	s, err := New(cfg, 7)
	if err != nil {
		t.Fatal(err)
	}
	const rates = `"lr_min": 0.001, "lr_max": 0.01, "size": 4, "batch": 32`
	const sgd = `"optimizer": "sgd", "momentum": 0.3, "nesterov": false`
	deep := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	for hparams, want := range map[string]string{
		`[]`:                    "not a JSON object",
		`null`:                  "not a JSON object",
		`{"a": 1e999}`:          "numbers in range",
		`{"net": ` + deep + `}`: "nested more than 64 levels",
		`{"x": "` + strings.Repeat("x", 70<<10) + `"}`: "at most 65536 are allowed",
		`{"optimiser": "sgd"}`:                         `optimiser: there is no hyperparameter "optimiser"; did you mean optimizer?`,
		`{"net": 3}`:                                   "net: net is a group of hyperparameters; name one of them, such as net.depth",
		`{"optimizer": "sgdx"}`:                        `optimizer: is never "sgdx"; one of "adam", "sgd", "rmsprop"`,
		`{"optimizer": ["sgd"]}`:                       `optimizer: is never ["sgd"]`,
		`{"size": 3}`:                                  "size: is never 3; one of 1, 2, 4",
		`{"size": "4"}`:                                `size: is never "4"`,
		`{"size": true}`:                               "size: is never true",
		`{"size": null}`:                               "size: is never null",
		`{"batch": 24}`:                                "batch: is never 24; a whole number from 16 to 64 in steps of 16",
		`{"net.depth": 2.5}`:                           "net.depth: is never 2.5; a whole number from 2 to 3",
		`{"lr_min": -1}`:                               "lr_min: is never -1; from 0.0001 to 0.1",
		`{"lr_min": "NaN"}`:                            `lr_min: is never "NaN"`,
		`{"net.depth": 2, "net": {"depth": 2}}`:        "net.depth: has two values",
		`{"fixed": 8}`:                                 "fixed: is never 8; it is always 7",
		`{}`:                                           "lr_min: is missing; from 0.0001 to 0.1",
		`{"optimizer": "adam", "momentum": 0.3}`:       `momentum: has no effect with these values; the trial has it only if optimizer is "sgd"`,
		`{"optimizer": "sgd"}`:                         "nesterov: is missing; one of true, false",
		`{"net": {"depth": 3}, ` + sgd + `, ` + rates + `}`:                                                   "net.width: is missing",
		`{"net": {"depth": 2}, "optimizer": "adam", "lr_min": 0.01, "lr_max": 0.001, "batch": 16, "size": 1}`: "lr_min, lr_max: do not fulfil searcher.constraints[0]; lr_min < lr_max",
	} {
		_, wrong := s.CheckProposals(Proposals{List: []Proposal{{"a", json.RawMessage(hparams)}}})
		if !slices.ContainsFunc(wrong, func(r Refusal) bool { return strings.Contains(r.Why, want) && r.Index == 0 && r.Key == "a" && !r.Late }) {
			t.Errorf("%.60s: got %+v, want %s", hparams, wrong, want)
		}
	}
	fine := Proposals{List: []Proposal{
		{"a", json.RawMessage(`{"net": {"depth": 2}, "optimizer": "adam", ` + rates + `}`)},
		{"b", json.RawMessage(`{"net.depth": 3, "net.width": 9.0, "fixed": 7, "damp": 0.5, "optimizer": "sgd", "momentum": 0.3, "nesterov": true, ` + rates + `}`)},
	}}
	propose(t, s, fine)
	for i, want := range []string{
		`{"batch":32,"lr_max":0.01,"lr_min":0.001,"net":{"depth":2},"optimizer":"adam","size":4}`,
		`{"batch":32,"damp":0.5,"fixed":7,"lr_max":0.01,"lr_min":0.001,"momentum":0.3,"nesterov":true,"net":{"depth":3,"width":9},"optimizer":"sgd","size":4}`,
	} {
		if got := text(s.HParams(i)); got != want {
			t.Errorf("trial %d has %s, want %s", i, got, want)
		}
		checkTrial(t, cfg, s.HParams(i))
	}
	if got := text(s.News(-1, s.Seq(), nil).Trials[1].HParams); got != `{"batch":32,"damp":0.5,"lr_max":0.01,"lr_min":0.001,"momentum":0.3,"nesterov":true,"net.depth":3,"net.width":9,"optimizer":"sgd","size":4}` {
		t.Errorf("the news have %s", got)
	}
}

// TestKeysNameProposals: a proposal that is sent again is not added again, and a key names one proposal.
func TestKeysNameProposals(t *testing.T) {
	cfg := configOf(t, "entrypoint: e\n"+askedSearch+space)
	s, err := New(cfg, 7)
	if err != nil {
		t.Fatal(err)
	}
	if s.Free() != 2 || s.Room() != 4 || !s.Starved() || s.Len() != 0 {
		t.Errorf("at first: %d wanted, room for %d, %d trials, starved %v", s.Free(), s.Room(), s.Len(), s.Starved())
	}
	if v, _ := s.Status(); v != lifecycle.Searching {
		t.Errorf("without proposals the search is %s", v)
	}
	three := Proposals{List: []Proposal{proposed("a", 0.1, 1, "x"), proposed("b", 0.2, 2, "x"), proposed("c", 0.3, 3, true)}}
	propose(t, s, three)
	if s.Len() != 2 || s.Queued() != 1 || s.Free() != 0 || s.Room() != 1 {
		t.Errorf("%d trials, %d queued, %d wanted, room for %d", s.Len(), s.Queued(), s.Free(), s.Room())
	}
	for what, test := range map[string]struct {
		body Proposals
		want string // "": accepted without being added
		late bool
	}{
		"again":          {three, "", false},
		"other values":   {Proposals{List: []Proposal{proposed("a", 0.5, 1, "x")}}, "other hyperparameters", true},
		"of one waiting": {Proposals{List: []Proposal{proposed("c", 0.3, 4, true)}}, "other hyperparameters", true},
		"twice at once":  {Proposals{List: []Proposal{proposed("d", 0.3, 4, true), proposed("d", 0.3, 4, true)}}, "proposals[0] has the same key", false},
		"no key":         {Proposals{List: []Proposal{proposed("", 0.3, 4, true)}}, "needs a key", false},
		"a long key":     {Proposals{List: []Proposal{proposed(strings.Repeat("k", 65), 0.3, 4, true)}}, "at most 64", false},
		"a control key":  {Proposals{List: []Proposal{proposed("a\x00", 0.3, 4, true)}}, "control characters", false},
		"too many":       {Proposals{List: []Proposal{proposed("e", 0.3, 4, true), proposed("f", 0.3, 4, true)}}, "takes 1 more now", true},
	} {
		fresh, wrong := s.CheckProposals(test.body)
		switch {
		case test.want == "" && (len(wrong) > 0 || len(fresh.List) > 0):
			t.Errorf("%s: %+v, %+v", what, fresh, wrong)
		case test.want != "" && (len(wrong) != 1 || !strings.Contains(wrong[0].Why, test.want) || wrong[0].Late != test.late):
			t.Errorf("%s: got %+v, want %s", what, wrong, test.want)
		}
	}
	many := Proposals{}
	for i := range MaxProposals {
		many.List = append(many.List, Proposal{Key: fmt.Sprint(i), HParams: json.RawMessage(`{"zz": 1}`)})
	}
	if _, wrong := s.CheckProposals(many); len(wrong) != maxProblems {
		t.Errorf("%d invalid proposals have %d problems, at most %d are listed", MaxProposals, len(wrong), maxProblems)
	}
}

// TestAProgramEndsASearch: after the last proposal the search needs no further ones, and trials that wait at a rung of any bracket stop.
func TestAProgramEndsASearch(t *testing.T) {
	cfg := configOf(t, "entrypoint: e\nsearcher: {metric: m, name: adaptive_asha, bracket_rungs: [2, 3], divisor: 2, max_trials: 40, max_concurrent_trials: 4, max_length: {batches: 8}, sampler: program}\n"+space)
	s, err := New(cfg, 7)
	if err != nil {
		t.Fatal(err)
	}
	body := Proposals{}
	for i := range 6 {
		body.List = append(body.List, proposed(fmt.Sprint(i), 0.1, 1+i%4, "x"))
	}
	propose(t, s, body)
	propose(t, s, Proposals{Last: true})
	if s.Planned() != 6 || s.Room() != 0 {
		t.Errorf("%d trials are planned, room for %d", s.Planned(), s.Room())
	}
	if _, wrong := s.CheckProposals(Proposals{List: []Proposal{proposed("late", 0.1, 1, "x")}}); len(wrong) != 1 || !wrong[0].Late || !strings.Contains(wrong[0].Why, "has ended the search") {
		t.Errorf("after the last one: %+v", wrong)
	}
	train(t, s)
	if v, why := s.Status(); v != lifecycle.SearchDone || s.Len() != 6 {
		t.Errorf("the search is %q (%s) with %d trials", v, why, s.Len())
	}
	empty, err := New(cfg, 7)
	if err != nil {
		t.Fatal(err)
	}
	propose(t, empty, Proposals{Last: true})
	if v, _ := empty.Status(); v != lifecycle.SearchDone {
		t.Errorf("a search that ended without a proposal is %q", v)
	}
}

// TestNewsSayHowTrialsEnd: a trial that trained to the end is completed although the search stopped it, and lengths are in the searcher's unit.
func TestNewsSayHowTrialsEnd(t *testing.T) {
	cfg := configOf(t, "entrypoint: e\nrecords_per_epoch: 100\nsearcher: {metric: m, smaller_is_better: false, name: async_halving, num_rungs: 2, divisor: 2, max_trials: 3, max_concurrent_trials: 3, max_length: {epochs: 4}, stop_once: true, sampler: program, start_with: [{n: 1}]}\n"+space+"  global_batch_size: 10\n")
	s, err := New(cfg, 7)
	if err != nil {
		t.Fatal(err)
	}
	propose(t, s, Proposals{List: []Proposal{proposed("a", 0.1, 1, "x"), proposed("b", 0.1, 2, "x")}})
	var history []Event
	tell := func(kind string, trial int, body any) {
		e := event(s.Seq()+1, kind, trial, body)
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
		history = append(history, e)
	}
	good, bad := 0.9, 0.1
	for _, steps := range []int{20, 40} {
		tell(Validated, 0, Validation{Metric: &good, Steps: steps})
	}
	tell(Exited, 0, Exit{Reason: lifecycle.ExitStopped})
	tell(Validated, 1, Validation{Metric: &bad, Steps: 20})
	tell(Validated, 1, Validation{Unfit: "NaN", Steps: 30})
	tell(Exited, 1, Exit{Reason: lifecycle.ExitStopped})
	tell(Suspended, 2, struct{}{})
	tell(Exited, 2, Exit{Reason: lifecycle.ExitErrored})
	news, want := s.News(-1, s.Seq(), history), []string{
		`0 "" 2 0.9 ""`, `0 "" 4 0.9 ""`, `0 "" 0 null "completed"`, `1 "a" 2 0.1 ""`, `1 "a" 3 null ""`, `1 "a" 0 null "stopped"`, `2 "b" waits`, `2 "b" 0 null "errored"`,
	}
	var got []string
	for _, x := range news.Results {
		if x.Waits {
			got = append(got, fmt.Sprintf("%d %q waits", x.Trial, x.Key))
			continue
		}
		got = append(got, fmt.Sprintf("%d %q %g %s %q", x.Trial, x.Key, x.Length, text(x.Metric), x.Ended))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(news.Trials) != 3 || news.Trials[0].Key != "" || news.Trials[0].HParams["n"] != int64(1) || news.Trials[2].Key != "b" {
		t.Errorf("the trials are %+v", news.Trials)
	}
}

// TestTheLargestProposedSearch tests the memory of a search whose program proposes as many trials, values and bytes of keys as it may,
// and that the estimate is not below it.
func TestTheLargestProposedSearch(t *testing.T) {
	cfg := configOf(t, "entrypoint: e\nsearcher: {metric: m, name: random, max_trials: 10000, max_concurrent_trials: 0, sampler: program}\nhyperparameters:\n"+
		strings.Join(numbered(100, "  h%d: {type: double, minval: 0, maxval: 1}\n"), ""))
	point := "{" + strings.Join(numbered(100, `"h%d": 0.123456789`), ",") + "}"
	before := heap()
	s, err := New(cfg, 7)
	if err != nil {
		t.Fatal(err)
	}
	estimate := s.Memory()
	for n := 0; s.Room() > 0; {
		var body Proposals
		for range s.Room() {
			body.List = append(body.List, Proposal{Key: fmt.Sprintf("%064d", n), HParams: json.RawMessage(point)})
			n++
		}
		if err := s.Apply(event(s.Seq()+1, Told, 0, body)); err != nil {
			t.Fatal(err)
		}
	}
	train(t, s)
	took := heap() - before
	if s.Len() != 10_000 || took > foldMemory {
		t.Errorf("%d trials take %d MiB", s.Len(), took>>20)
	}
	withinEstimate(t, took, estimate)
	runtime.KeepAlive(s)
}

// BenchmarkCheckProposals checks a full batch of values of a category with thousands of lists.
func BenchmarkCheckProposals(b *testing.B) {
	cfg := configOf(b, "entrypoint: e\n"+strings.Replace(askedSearch, "max_trials: 4", "max_trials: 2000", 1)+"hyperparameters:\n  h: {type: categorical, vals: ["+strings.Join(numbered(9000, "[%d, 1]"), ", ")+"]}\n")
	s, err := New(cfg, 7)
	if err != nil {
		b.Fatal(err)
	}
	var body Proposals
	for i := range MaxProposals {
		body.List = append(body.List, Proposal{Key: fmt.Sprint(i), HParams: json.RawMessage(fmt.Sprintf(`{"h": [%d, 1]}`, 8999-i))})
	}
	for b.Loop() {
		if _, wrong := s.CheckProposals(body); len(wrong) > 0 {
			b.Fatalf("%+v", wrong)
		}
	}
}
