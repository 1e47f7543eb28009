package experiments

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search"
)

// past inserts an ended experiment with a complete configuration.
func (w *world) past(searcher string) int {
	w.T.Helper()
	cfg := configOf(w.T, searcher)
	js, err := cfg.JSON()
	if err != nil {
		w.T.Fatal(err)
	}
	id := w.Experiment(`{}`)
	w.Exec(`UPDATE experiments SET config = $2::text::jsonb, state = 'COMPLETED', ended_at = now() WHERE id = $1`, id, string(js))
	return id
}

// tried inserts a trial with its validations, each as the body of its event.
func (w *world) tried(experiment, number int, hparams string, bodies ...string) int {
	w.T.Helper()
	id := w.Trial(experiment, number, 1)
	w.Exec(`UPDATE trials SET hparams = $2::text::jsonb, state = 'COMPLETED', ended_at = now() WHERE id = $1`, id, hparams)
	var events []NewEvent
	for _, b := range bodies {
		events = append(events, NewEvent{ExperimentID: experiment, Trial: number, Kind: search.Validated, Body: json.RawMessage(b)})
	}
	if err := AppendEvents(w.T.Context(), w.DB, events); err != nil {
		w.T.Fatal(err)
	}
	return id
}

func configOf(t testing.TB, searcher string) expconf.Config {
	t.Helper()
	raw, _, err := expconf.Parse("config", []byte("name: x\nentrypoint: e\nrecords_per_epoch: 100\nsearcher: "+searcher+
		"\nhyperparameters: {lr: {type: double, minval: 0, maxval: 1}, k: {type: int, minval: 1, maxval: 9}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

const newSearch = "{name: random, metric: loss, max_trials: 9, learn_from: [%d]}"

// TestWhatIsReadOfEarlierExperiments: the first result of each length of training, by each way to measure a length.
func TestWhatIsReadOfEarlierExperiments(t *testing.T) {
	w := newWorld(t)
	who := auth.Who{UserID: 2}
	is := func(what string, id int, want string) {
		t.Helper()
		earlier, remarks, err := Learn(t.Context(), w.DB, who, configOf(t, fmt.Sprintf(newSearch, id)))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, err := json.Marshal(earlier.Experiments[0].Trials)
		if err != nil || string(got) != want {
			t.Errorf("%s: it learns %s, want %s (%v)", what, got, want, remarks)
		}
	}
	batches := w.past("{name: adaptive_asha, metric: loss, max_trials: 9, max_length: {batches: 64}}")
	w.tried(batches, 0, `{"lr": 0.1, "k": 1}`, `{"metric": 0.9, "steps": 1}`, `{"metric": 0.8, "steps": 2}`, `{"metric": 0.7, "steps": 4}`, `{"metric": 0.6, "steps": 16}`)
	w.tried(batches, 1, `{"lr": 0.2, "k": 2}`, `{"metric": 0.5, "steps": 1}`, `{"metric": null, "unfit": "nan", "steps": 4}`)
	w.tried(batches, 2, `{"lr": 0.3, "k": 3}`, `{"metric": 0.7, "steps": 1}`, `{"metric": 0.65, "steps": 4}`, `{"metric": 0.55, "steps": 16}`, `{"metric": 0.3, "steps": 64}`, `{"metric": 0.2, "steps": 70}`)
	w.tried(batches, 3, `{"lr": 0.4, "k": 4}`, `{"metric": null, "steps": 64}`, `{"metric": 0.1, "steps": 0}`)
	w.tried(batches, 4, `{"lr": 0.5, "k": 5}`)
	is("batches", batches, `[{"values":"3 0.3","results":[1,0,0,0]},{"values":"1 0.1","results":[2,1,1,null]},{"values":"2 0.2","results":[0,-1,null,null]}]`)

	epochs := w.past("{name: async_halving, num_rungs: 2, metric: loss, max_trials: 9, max_length: {epochs: 4}}")
	w.tried(epochs, 0, `{"lr": 0.1, "global_batch_size": 10}`, `{"metric": 0.5, "steps": 10}`, `{"metric": 0.4, "steps": 40}`)
	w.tried(epochs, 1, `{"lr": 0.2, "global_batch_size": "auto"}`, `{"metric": 0.5, "steps": 10, "time": 4}`)
	w.tried(epochs, 2, `{"lr": 0.3}`, `{"metric": 0.5, "steps": 10}`)
	w.tried(epochs, 3, `{"lr": 0.4}`, `{"metric": 0.3, "steps": 10, "length": 1}`)
	is("epochs", epochs, `[{"values":"- 0.1","results":[null,null,1,0]},{"values":"- 0.2","results":[null,null,null,1]},{"values":"- 0.4","results":[null,null,0,null]}]`)

	seconds := w.past("{name: async_halving, num_rungs: 2, metric: loss, max_trials: 9, time_metric: seconds, max_time: 100}")
	w.tried(seconds, 0, `{"lr": 0.1}`, `{"metric": 0.5, "steps": 10, "time": 99}`)
	w.tried(seconds, 1, `{"lr": 0.2}`, `{"metric": 0.5, "steps": 10}`)
	w.tried(seconds, 2, `{"lr": 0.3}`, `{"metric": 0.5, "steps": 10, "time": 5e-324}`)
	is("a metric", seconds, `[{"values":"- 0.1","results":[null,null,null,0]}]`)

	copies := w.past("{name: pbt, metric: loss, population_size: 2, num_rounds: 3, length_per_round: {batches: 4}, replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0.2, perturb_factor: 0.2}}")
	for number := range 3 {
		w.tried(copies, number, fmt.Sprintf(`{"lr": 0.%d}`, number), `{"metric": 0.5, "steps": 4}`)
	}
	is("a population", copies, `[{"values":"- 0","results":[null,null,0,null]},{"values":"- 0.1","results":[null,null,0,null]}]`)

	whole := w.past("{name: random, metric: loss, max_trials: 9}")
	for number, best := range []string{"0.5", "0.25", "NULL"} {
		id := w.tried(whole, number, fmt.Sprintf(`{"lr": 0.%d}`, number))
		w.Exec(`INSERT INTO trial_summaries (trial_id, searcher_value) VALUES ($1, `+best+`)`, id)
	}
	w.Exec(`INSERT INTO trial_summaries (trial_id, searcher_value) VALUES ($1, 0.1)`, w.Trial(whole, 7, 1)) // it runs
	is("whole trainings", whole, `[{"values":"- 0","results":[null,null,null,1]},{"values":"- 0.1","results":[null,null,null,0]}]`)

	elsewhere := w.past("{name: async_halving, num_rungs: 2, metric: loss, max_trials: 9, max_length: 9}")
	w.Exec(`UPDATE experiments SET unmanaged = true WHERE id = $1`, elsewhere)
	for number, batches := range []int{90, 100, 30} {
		id := w.tried(elsewhere, number, fmt.Sprintf(`{"lr": 0.%d}`, number))
		w.Exec(`INSERT INTO trial_summaries (trial_id, searcher_value, total_batches) VALUES ($1, 0.5, $2)`, id, batches+9)
	}
	is("trials that ran elsewhere", elsewhere, `[{"values":"- 0.1","results":[null,null,null,0]}]`)

	// An imported search has no events: what its trials reported counts, as far as it is not archived.
	w.Exec(`INSERT INTO imports (cluster_id, prefix) VALUES ('x', '')`)
	for old, searcher := range []string{"{name: adaptive_asha, metric: loss, max_trials: 9, max_length: {batches: 64}}", "{name: random, metric: loss, max_trials: 9, max_length: {batches: 64}}"} {
		imported := w.past(searcher)
		w.Exec(`INSERT INTO import_numbers (import_id, kind, old, new, made) SELECT id, 'experiment', $2, $1, true FROM imports`, imported, old)
		for number, reports := range []string{`(1, '{"loss": 0.9}', false), (4, '{"loss": 0.7}', false), (16, '{"loss": 0.6}', false)`, `(1, '{"loss": 0.1}', true), (4, '{"loss": "NaN"}', false)`,
			`(1, '{"loss": 0.7}', false), (64, '{"loss": 0.3}', false), (70, '{"accuracy": 1}', false)`} {
			id := w.tried(imported, number, fmt.Sprintf(`{"lr": 0.%d}`, number+1))
			w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg, archived) SELECT $1, 1, 'validation', s, s, now(), avg::jsonb, archived FROM (VALUES `+reports+`) x (s, avg, archived)`, id)
		}
		is("an imported search: "+searcher, imported, `[{"values":"- 0.3","results":[0,null,null,0]},{"values":"- 0.1","results":[1,0,0,null]},{"values":"- 0.2","results":[null,-1,null,null]}]`)
	}
	is("no trials", w.past("{name: random, metric: loss, max_trials: 9}"), `[]`)
}

// TestWhatOneMayNotLearnFrom: all mistakes together, with their places. An experiment that the caller may not see is like none.
func TestWhatOneMayNotLearnFrom(t *testing.T) {
	w := newWorld(t)
	other, larger := w.past("{name: random, metric: accuracy, max_trials: 9}"), w.past("{name: random, metric: loss, max_trials: 9, smaller_is_better: false}")
	fine := w.past("{name: random, metric: loss, max_trials: 9}")
	text := fmt.Sprintf("{name: random, metric: loss, max_trials: 9, learn_from: [%d, %d, %d, 99]}", other, larger, fine)
	_, _, err := Learn(t.Context(), w.DB, auth.Who{UserID: 2}, configOf(t, text))
	for _, want := range []string{
		fmt.Sprintf(`config:4:68: searcher.learn_from[0]: experiment %d has the metric "accuracy" (smaller is better), and this search "loss" (smaller is better)`, other),
		fmt.Sprintf(`searcher.learn_from[1]: experiment %d has the metric "loss" (larger is better), and this search "loss" (smaller is better)`, larger),
		`searcher.learn_from[3]: there is no experiment 99`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	stranger := auth.Who{UserID: 2, Grants: &auth.Grants{}}
	_, _, hidden := Learn(t.Context(), w.DB, stranger, configOf(t, fmt.Sprintf(newSearch, fine)))
	_, _, none := Learn(t.Context(), w.DB, stranger, configOf(t, fmt.Sprintf(newSearch, fine+1000)))
	if hidden == nil || none == nil || strings.ReplaceAll(hidden.Error(), fmt.Sprint(fine), "N") != strings.ReplaceAll(none.Error(), fmt.Sprint(fine+1000), "N") {
		t.Errorf("of a hidden experiment it says %v, of none %v", hidden, none)
	}
}
