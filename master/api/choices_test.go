package api

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A choice is a parameter of a query of Determined's client, and the values that it may have.
type choice struct{ method, path, name, values string }

var enumOf = regexp.MustCompile(`^(?:Sequence\[)?(\w+)\]?$`)

// choices returns the parameters with fixed values of all lists and streams of Determined's client.
func choices(t *testing.T) (list []choice, values map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("../v1/generate/bindings.txt")
	if err != nil {
		t.Fatal(err)
	}
	values = map[string][]string{}
	enum, method, path := "", "", ""
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "enum":
			enum = words[1]
		case words[0] == "value":
			values[enum] = append(values[enum], words[2])
		case words[0] == "op":
			method, path = words[2], words[3]
		case words[0] == "arg" && words[4] == "query":
			list = append(list, choice{method, path, words[5], enumOf.ReplaceAllString(words[2], "$1")})
		}
	}
	list = slices.DeleteFunc(list, func(c choice) bool { return values[c.values] == nil || c.method != "GET" })
	return list, values
}

// TestEveryValueOfTheirLists: no order, state or type by which Determined's client can ask for a list or a
// stream is answered with an error.
func TestEveryValueOfTheirLists(t *testing.T) {
	r := newRig(t)
	a := r.running(sharedStorage(t.TempDir()), 1)
	a.stored()
	r.over(a.exp)
	me, admin := r.user("determined"), r.user("admin")
	me.post("/api/v1/models", `{"name":"m"}`).ok()
	me.version("m", older)
	fill := strings.NewReplacer("{experimentId}", fmt.Sprint(a.exp), "{trialId}", fmt.Sprint(a.trial), "{labels_trialId}", fmt.Sprint(a.trial),
		"{taskId}", a.task, "{modelName}", "m", "{modelVersionNum}", "1", "{checkpointUuid}", older,
		"experiments/{id}", fmt.Sprintf("experiments/%d", a.exp), "trials/{id}", fmt.Sprintf("trials/%d", a.trial), "{id}", "1")
	// What else a request needs, by the end of its path.
	needs := map[string]string{"/metrics-stream/batches": "metricName=loss", "/trials-sample": "metricName=loss", "/trials-snapshot": "metricName=loss&batchesProcessed=1",
		"/allocation/aggregated": "startDate=2026-01-01&endDate=2026-01-02", "/profiler/metrics": "labels.name=cpu_util_simple",
		"/trials/time-series": fmt.Sprintf("trialIds=%d&metricNames=loss", a.trial)}
	// Without a type or a group these do not know their metric, and without a period not what to add up.
	nothing := []string{"METRIC_TYPE_UNSPECIFIED", "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_UNSPECIFIED"}
	list, values := choices(t)
	asked := 0
	for _, c := range list {
		path := fill.Replace(c.path)
		query := url.Values{}
		for end, more := range needs {
			if strings.HasSuffix(c.path, end) {
				query, _ = url.ParseQuery(more)
			}
		}
		for _, v := range values[c.values] {
			query.Set(c.name, v)
			if strings.HasSuffix(v, "_MONTHLY") {
				query.Set("startDate", "2026-01")
				query.Set("endDate", "2026-01")
			}
			got := admin.get(path + "?" + query.Encode())
			if asked++; got.code != 200 && !slices.Contains(nothing, v) {
				t.Errorf("%s?%s: %d %s", path, query.Encode(), got.code, got.body)
			}
		}
	}
	if asked < 250 {
		t.Errorf("only %d values were asked for", asked)
	}
}
