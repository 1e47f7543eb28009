package api

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/search"
	v1 "github.com/detent-ml/detent/master/v1"
)

const proposedYAML = `name: x
entrypoint: x
searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 6, max_concurrent_trials: 2, max_length: {batches: 8}, stop_once: true, sampler: program}
hyperparameters: {lr: {type: double, minval: 0, maxval: 1}, net: {depth: {type: int, minval: 1, maxval: 4}}, size: 3}
`

// A prompter is a program that proposes the trials of one experiment.
type prompter struct {
	as
	path string
}

func (c as) prompter(experiment int) prompter {
	return prompter{c, fmt.Sprintf("/api/v1/detent/experiments/%d/search-", experiment)}
}

// news reads the news after an answer; "" from the beginning.
func (p prompter) news(after string) (got v1.GetSearchNewsResponse, next string) {
	p.r.t.Helper()
	if after != "" {
		after = "?after=" + after
	}
	body := p.get(p.path + "news" + after).ok().body
	if err := v1.Unmarshal(body, &got); err != nil {
		p.r.t.Fatal(err)
	}
	return got, fmt.Sprint(got.Next)
}

func (p prompter) propose(list ...string) answer {
	return p.post(p.path+"proposals", `{"proposals":[`+strings.Join(list, ",")+`]}`)
}

func proposal(key string, lr float64, depth int) string {
	return fmt.Sprintf(`{"key":%q,"hparams":{"lr":%g,"net.depth":%d}}`, key, lr, depth)
}

// TestAProgramProposesTrials: a program learns what the search wants, proposes it, and learns the results; a program that begins
// again, on any master, learns all of it again.
func TestAProgramProposesTrials(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(proposedYAML)
	p := me.prompter(id)
	first, next := p.news("")
	if first.Wanted != 2 || first.Room != 6 || len(first.Trials) != 0 || first.State != "STATE_PAUSED" {
		t.Errorf("at first: %+v", first)
	}
	var told v1.PostSearchProposalsResponse
	if err := v1.Unmarshal(p.propose(proposal("a", 0.5, 2), proposal("b", 0.25, 1), proposal("c", 0.125, 3)).ok().body, &told); err != nil || told.Wanted != 0 || told.Waiting != 1 || told.Room != 3 {
		t.Errorf("after three proposals: %+v, %v", told, err)
	}
	half, nan := 0.5, search.Validation{Unfit: "NaN", Steps: 4}
	r.event(id, search.Validated, 0, search.Validation{Metric: &half, Steps: 4})
	r.event(id, search.Validated, 1, nan)
	r.event(id, search.Exited, 1, search.Exit{Reason: "stopped"})
	second, last := p.news(next)
	b, err := json.Marshal(map[string]any{"trials": second.Trials, "results": second.Results})
	if err != nil {
		t.Fatal(err)
	}
	text := p.get(p.path + "news?after=" + next).ok().body
	for _, want := range []string{`{"hparams":{"lr":0.5,"net.depth":2},"key":"a","number":0}`, `"key":"b","number":1`, `"key":"c","number":2`,
		`{"ended":"","key":"a","length":4,"metric":0.5,"trial":0,"waits":false}`, `{"ended":"","key":"b","length":4,"metric":null,"trial":1,"waits":false}`, `{"ended":"stopped","key":"b","length":0,"metric":null,"trial":1,"waits":false}`} {
		if !strings.Contains(sorted(t, text), want) {
			t.Errorf("%s is not in %s (%s)", want, sorted(t, text), b)
		}
	}
	if second.Wanted != 0 || second.Waiting != 0 || second.More {
		t.Errorf("the news are %+v", second)
	}
	r.event(id, search.Exited, 2, search.Exit{Reason: "errored"})
	if third, _ := p.news(last); third.Wanted != 1 || len(third.Trials) != 0 || len(third.Results) != 1 {
		t.Errorf("after the end of a trial: %+v", third)
	}
	whole := p.get(p.path + "news").ok().body
	if anew := r.another().user("determined").get(p.path + "news").ok().body; string(anew) != string(whole) {
		t.Errorf("from the events: %s, from memory: %s", anew, whole)
	}
	p.post(p.path+"proposals", `{"last":true}`).ok()
	p.propose(proposal("d", 0.5, 2)).says(409, "has ended the search")
	p.propose(proposal("c", 0.125, 3)).ok() // it is there already
	r.moves(id, "PAUSED", "COMPLETED")
	p.propose(proposal("d", 0.5, 2)).says(409, "has ended")
	if end, _ := p.news(last); end.State != "STATE_COMPLETED" {
		t.Errorf("at the end: %+v", end)
	}
	killed := me.create(proposedYAML)
	r.moves(killed, "PAUSED", "CANCELED")
	if news, _ := me.prompter(killed).news(""); news.Wanted != 0 || news.Room != 0 {
		t.Errorf("a killed search wants proposals: %+v", news)
	}
	p.get(p.path+"news?after="+fmt.Sprint(int64(math.MaxInt64))).says(400, "has only")
	p.get(p.path+"news?after=-2").says(400, "after")
}

// sorted writes JSON with sorted keys.
func sorted(t *testing.T, body []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestNewsAreAwaited: a request for news waits for an event.
func TestNewsAreAwaited(t *testing.T) {
	r := newRig(t)
	p := r.user("determined").prompter(r.user("determined").create(proposedYAML))
	_, next := p.news("")
	got := make(chan v1.GetSearchNewsResponse)
	go func() {
		news, _ := p.news(next)
		got <- news
	}()
	p.propose(proposal("a", 0.5, 2)).ok()
	if news := <-got; len(news.Trials) != 1 || news.Wanted != 1 {
		t.Errorf("the news are %+v", news)
	}
}

// TestHostileProposals: an invalid proposal is rejected with what would be right, and changes nothing.
func TestHostileProposals(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(proposedYAML)
	p := me.prompter(id)
	for _, x := range []struct {
		body string
		says []string
	}{
		{`{"key":"a","hparams":{"lr":2,"net.depth":9}}`, []string{`proposals[0] (key "a"): lr: is never 2; from 0 to 1`, "net.depth: is never 9; a whole number from 1 to 4"}},
		{`{"key":"a","hparams":{"lr":0.5}}`, []string{"net.depth: is missing"}},
		{`{"key":"a","hparams":{"lr":0.5,"net":{"depth":2},"width":1}}`, []string{`there is no hyperparameter "width"`}},
		{`{"key":"a","hparams":{"lr":"NaN","net.depth":1}}`, []string{`lr: is never "NaN"`}},
		{`{"key":"a","hparams":{"lr":0.5,"net.depth":1,"size":4}}`, []string{"size: is never 4; it is always 3"}},
		{`{"key":"a","hparams":{"lr":1e999,"net.depth":1}}`, nil},
		{`{"key":"a","hparams":{"lr":NaN,"net.depth":1}}`, nil},
		{`{"key":"a","hparams":[]}`, nil},
		{`{"key":"a","hparams":"{}"}`, nil},
		{`{"key":"a"}`, []string{"not a JSON object"}},
		{`{"key":"","hparams":{"lr":0.5,"net.depth":1}}`, []string{"proposals[0]: it needs a key"}},
		{`{"key":"a\u0000","hparams":{"lr":0.5,"net.depth":1}}`, nil},
		{"{\"key\":\"\xff\",\"hparams\":{\"lr\":0.5,\"net.depth\":1}}", []string{"UTF-8"}},
		{`{"key":7,"hparams":{"lr":0.5,"net.depth":1}}`, nil},
		{`{"key":"` + strings.Repeat("k", 100) + `","hparams":{"lr":0.5,"net.depth":1}}`, []string{"at most 64"}},
		{`{"key":"a","hparams":{"lr":0.5,"net":` + strings.Repeat(`{"a":`, 3000) + "1" + strings.Repeat("}", 3000) + `}}`, nil},
		{proposal("a", 0.5, 1) + "," + proposal("b", 5, 1), []string{`proposals[1] (key "b")`}},
		{proposal("a", 0.5, 1) + "," + proposal("a", 0.5, 1), []string{"the same key"}},
	} {
		p.propose(x.body).says(400, x.says...)
	}
	var many []string
	for i := range 10_000 {
		many = append(many, proposal(fmt.Sprint(i), 0.5, 1))
	}
	p.propose(many...).says(413, "10000 are over the limit of 1000")
	p.propose(many[:1000]...).says(409, "1000 new proposals, and the search takes 6 more now")
	if news, _ := p.news(""); news.Next != 0 || news.Wanted != 2 {
		t.Errorf("after rejected proposals: %+v", news)
	}
	plain := me.create(yaml())
	me.prompter(plain).propose(proposal("a", 0.5, 1)).says(400, "sampler: program")
	me.get(me.prompter(plain).path+"news").says(400, "sampler: program")
	me.get(fmt.Sprintf("/api/v1/experiments/%d/searcher_events", id)).says(400, "search-news")
	me.post(fmt.Sprintf("/api/v1/experiments/%d/searcher_operations", id), `{"searcherOperations":[]}`).says(400, "not custom")
}

// TestProposalsWithManyDigits: PostgreSQL has all digits of 1e-999, and each master reads the proposals of a request together.
func TestProposalsWithManyDigits(t *testing.T) {
	r := newRig(t, everySearcher)
	me := r.user("determined")
	var space, values []string
	for i := range 300 {
		space, values = append(space, fmt.Sprintf("h%d: {type: double, minval: 0, maxval: 1}", i)), append(values, fmt.Sprintf(`"h%d":1e-999`, i))
	}
	id := me.create("name: x\nentrypoint: x\nsearcher: {name: random, metric: loss, max_trials: 20, sampler: program}\nhyperparameters: {" + strings.Join(space, ", ") + "}\n")
	var list []string
	for i := range 20 {
		list = append(list, fmt.Sprintf(`{"key":"%d","hparams":{%s}}`, i, strings.Join(values, ",")))
	}
	p := me.prompter(id)
	p.propose(list[0]).ok() // with all digits it is longer than a proposal may be
	if news, _ := p.news(""); len(news.Trials) != 1 {
		t.Errorf("an accepted proposal became %d trials", len(news.Trials))
	}
	p.propose(list[1:]...).says(400, "too many digits")
	custom := me.create("name: x\nentrypoint: x\nsearcher: {name: custom, metric: loss, unit: batches}\n")
	hparams, err := json.Marshal(`{"h":[` + strings.Repeat("1e-999,", 8000) + `0]}`)
	if err != nil {
		t.Fatal(err)
	}
	me.post(fmt.Sprintf("/api/v1/experiments/%d/searcher_operations", custom), fmt.Sprintf(`{"searcherOperations":[{"createTrial":{"requestId":"a","hyperparams":%s}}]}`, hparams)).says(400, "too many digits")
}

// TestAProposalIsRepeated: a proposal that was sent before is not added again, however the database writes its numbers.
func TestAProposalIsRepeated(t *testing.T) {
	r := newRig(t)
	p := r.user("determined").prompter(r.user("determined").create(proposedYAML))
	for i, values := range []string{`"lr":-0.0,"net.depth":2`, `"lr":1e-320,"net.depth":2.0`, `"lr":0.1000000000000000000001,"net":{"depth":2}`, `"lr":1E-999,"net.depth":20e-1,"size":3.0`} {
		p.propose(fmt.Sprintf(`{"key":"%d","hparams":{%s}}`, i, values)).ok()
		p.propose(fmt.Sprintf(`{"key":"%d","hparams":{%s}}`, i, values)).ok()
	}
	p.propose(`{"key":"1","hparams":{"net":{"depth":2},"lr":1e-320,"size":3}}`).ok()
	if news, _ := p.news(""); news.Next != 4 || len(news.Trials)+news.Waiting != 4 {
		t.Errorf("the news are %+v", news)
	}
}

// TestNewsOfLargeTrials: answers have a megabyte of hyperparameters, and a program reads on.
func TestNewsOfLargeTrials(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	long := strings.Repeat("x", 30_000)
	id := me.create("name: x\nentrypoint: x\nsearcher: {name: random, metric: loss, max_trials: 120, max_concurrent_trials: 120, sampler: program}\nhyperparameters: {a: {type: categorical, vals: [" + long + ", y]}}\n")
	p := me.prompter(id)
	for part := range 12 {
		var list []string
		for i := range 10 {
			list = append(list, fmt.Sprintf(`{"key":"%d.%d","hparams":{"a":%q}}`, part, i, long))
		}
		p.propose(list...).ok()
	}
	first, next := p.news("")
	rest, last := p.news(next)
	if !first.More || len(first.Trials) != 30 || first.Next != 3 || rest.More == false || len(rest.Trials) != 30 || last != "6" {
		t.Errorf("the first answer has %d trials up to event %d, the next one %d up to %s", len(first.Trials), first.Next, len(rest.Trials), last)
	}
}

// TestNoProposalsForUnmanaged: programs of an unmanaged experiment create its trials; proposals would wait for ever, in memory that nobody granted.
func TestNoProposalsForUnmanaged(t *testing.T) {
	r := newRig(t, everySearcher)
	me := r.user("determined")
	p := me.prompter(me.create(proposedYAML, `"unmanaged":true`))
	p.propose(proposal("a", 0.5, 1)).says(400, "is unmanaged")
	p.get(p.path+"news").says(400, "is unmanaged")
	custom := fmt.Sprintf("/api/v1/experiments/%d/searcher_", me.create("name: x\nentrypoint: x\nsearcher: {name: custom, metric: loss, unit: batches}\n", `"unmanaged":true`))
	me.get(custom+"events").says(400, "is unmanaged")
	me.post(custom+"operations", `{"searcherOperations":[]}`).says(400, "is unmanaged")
}

// TestOthersDoNotPropose: who may not change an experiment cannot propose its trials or read its news, and whoever may not see it
// does not learn that it exists.
func TestOthersDoNotPropose(t *testing.T) {
	r := newRoleRig(t)
	r.give(auth.WorkspaceAdmin, "determined", 1)
	id := r.user("determined").create(proposedYAML, `"projectId":1`)
	r.newUser("vera")
	r.newUser("nora")
	r.give(auth.Viewer, "vera", 1)
	for name, code := range map[string]int{"vera": 403, "nora": 404} {
		p := r.user(name).prompter(id)
		p.propose(proposal("a", 0.5, 1)).is(code)
		p.get(p.path + "news").is(code)
	}
	r.anyone().prompter(id).propose(proposal("a", 0.5, 1)).is(401)
	if news, _ := r.user("determined").prompter(id).news(""); news.Next != 0 {
		t.Errorf("the search has %d events", news.Next)
	}
}

// TestProgramsProposeTogether: several programs propose at once, each of them again and again; each key becomes one trial, and no
// more proposals are accepted than there are trials.
func TestProgramsProposeTogether(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(strings.Replace(proposedYAML, "max_trials: 6", "max_trials: 24", 1))
	var wait sync.WaitGroup
	accepted := make(chan string, 1000)
	for n := range 4 {
		masterOf := r
		if n%2 == 1 {
			masterOf = r.another()
		}
		p := masterOf.user("determined").prompter(id)
		wait.Go(func() {
			for i := range 10 {
				key := fmt.Sprintf("%d-%d", n, i)
				for range 2 {
					switch got := p.propose(proposal(key, 0.5, 1+i%4)); got.code {
					case 200:
						accepted <- key
					case 409:
					default:
						t.Errorf("%s: %d %s", key, got.code, got.body)
					}
				}
			}
		})
	}
	wait.Wait()
	close(accepted)
	keys := map[string]int{}
	for key := range accepted {
		keys[key]++
	}
	if len(keys) != 24 {
		t.Errorf("%d proposals were accepted, 24 trials are planned", len(keys))
	}
	for key, n := range keys {
		if n != 2 {
			t.Errorf("proposal %s was accepted %d times of 2", key, n)
		}
	}
	news, _ := me.prompter(id).news("")
	if len(news.Trials) != 2 || news.Waiting != 22 || news.Room != 0 {
		t.Errorf("the news are %+v", news)
	}
}
