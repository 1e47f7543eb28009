package api

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

// repeated posts a request that was named by its client.
func (c as) repeated(path, body, key string) answer {
	c.r.t.Helper()
	return c.with("POST", path, strings.NewReader(body), http.Header{"Idempotency-Key": {key}, "Content-Type": {"application/json"}})
}

// TestRepeatedCreation: a request that is sent again because its answer was lost makes nothing new,
// also where both arrive at once.
func TestRepeatedCreation(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 4)
	me, other := r.user("determined"), r.user("admin")
	experiment, command := createBody(yaml("labels: [a]"), `"activate":true`), `{"config":{"entrypoint":["true"],"resources":{"slots":4}}}`
	for path, body := range map[string]string{
		"experiments": experiment, "commands": command, "notebooks": `{"config":{}}`, "shells": `{"config":{}}`,
	} {
		kind := strings.TrimSuffix(path, "s")
		path = "/api/v1/" + path
		first := me.repeated(path, body, "key-1-"+kind).ok().tree()
		id := at(t, first, kind+".id")
		again := me.repeated(path, body, "key-1-"+kind).ok().tree()
		if at(t, again, kind+".id") != id || len(at(t, again, "warnings").([]any)) != len(at(t, first, "warnings").([]any)) {
			t.Errorf("%s: the first made %v, the repeated one %v", path, first, again)
		}
		if kind == "shell" && at(t, again, "shell.privateKey") != at(t, first, "shell.privateKey") {
			t.Errorf("the repeated request has another key for %v", again)
		}
		ids := make([]any, 4)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() { ids[i] = at(t, me.repeated(path, body, "key-2-"+kind).tree(), kind+".id") })
		}
		all.Wait()
		for _, other := range ids {
			if other == nil || other != ids[0] || other == id {
				t.Errorf("%s: four at once made %v, after %v", path, ids, id)
			}
		}
		if theirs := at(t, other.repeated(path, body, "key-1-"+kind).ok().tree(), kind+".id"); theirs == id {
			t.Errorf("%s: somebody else's key led to %v", path, id)
		}
		if bare := at(t, me.post(path, body).ok().tree(), kind+".id"); bare == id || bare == ids[0] {
			t.Errorf("%s: a request without a key led to %v", path, bare)
		}
		me.repeated(path, body, strings.Repeat("x", 201)).says(400, "Idempotency-Key", "over the limit of 200")
		me.repeated(path, body, "a b").says(400, "Idempotency-Key", "without spaces")
	}
	me.repeated("/api/v1/notebooks", `{"config":{}}`, "key-1-command").says(409, "another kind of task")
}
