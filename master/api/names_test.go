package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/detent-ml/detent/master/names"
)

// TestLongNamesAndLabels: what may be set at creation may be set later, and each list has it.
func TestLongNamesAndLabels(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 4)
	me := r.user("determined")
	name, label := strings.Repeat("実験🧪", 16_000), strings.Repeat("🧪", 2000)
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("label %03d of a sweep 'x', \"y\"", i))
	}
	encode := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	config := func(labels []string) string {
		return strings.Replace(yaml("labels: "+encode(labels)), "name: small", "name: "+name, 1)
	}
	id := me.create(config(many), `"activate":false`)
	path := fmt.Sprintf("/api/v1/experiments/%d", id)
	holds := func(want string, labels int) {
		t.Helper()
		for _, at_ := range []string{"experiment.", "experiment.config."} {
			e := me.get(path).ok().tree()
			if at(t, e, at_+"name") != want || len(at(t, e, at_+"labels").([]any)) != labels {
				t.Errorf("%s: a name of %d bytes, %d labels", at_, len(at(t, e, at_+"name").(string)), len(at(t, e, at_+"labels").([]any)))
			}
		}
	}
	holds(name, 1000)
	me.patch(path, `{"name":"other","labels":[]}`).ok()
	me.patch(path, `{"name":`+encode(name)+`,"labels":`+encode(many)+`}`).ok()
	me.put(path+"/labels/"+url.PathEscape(label), "").ok()
	holds(name, 1001)
	list := me.get("/api/v1/experiments?labels=" + url.QueryEscape(label)).ok().tree()
	if at(t, list, "experiments.0.name") != name || at(t, list, "pagination.endIndex") != 1.0 {
		t.Error("the list by label")
	}
	found := me.post("/api/v1/experiments-search", encode(map[string]any{"query": "label = '" + label + "'"})).ok().tree()
	if at(t, found, "experiments.0.experiment.name") != name {
		t.Error("the search by label")
	}
	runs := me.post("/api/v1/runs", "{}").ok().tree()
	if at(t, runs, "runs.0.experiment.name") != name || len(at(t, runs, "runs.0.labels").([]any)) != 1001 {
		t.Error("runs")
	}
	// A copy of the experiment is valid, with its own configuration.
	again := me.create(encode(at(t, me.get(path).ok().tree(), "experiment.config")), `"activate":false`, fmt.Sprintf(`"parentId":%d`, id))
	if e := me.get(fmt.Sprintf("/api/v1/experiments/%d", again)).ok().tree(); at(t, e, "experiment.name") != name || len(at(t, e, "experiment.labels").([]any)) != 1001 {
		t.Error("a fork has another name, or other labels")
	}
	me.do("DELETE", path+"/labels/"+url.PathEscape(label), "").ok()
	holds(name, 1000)

	long := strings.Repeat("n", names.MaxText+1)
	for field, body := range map[string]string{"name": encode(long), "description": encode(long), "notes": encode(long), "labels": encode([]string{"a", long})} {
		me.patch(path, `{"`+field+`":`+body+`}`).says(400, field, "over the limit of 262144")
	}
	me.patch(path, `{"name":"a\u001b[2J"}`).says(400, "name: must be one line")
	me.patch(path, `{"labels":["a","\u0085"]}`).says(400, "labels: the label")
	var most []string
	for i := range names.MaxLabels {
		most = append(most, fmt.Sprint(i))
	}
	me.patch(path, `{"labels":`+encode(append(most, "more"))+`}`).says(400, "labels: has 2001 labels, over the limit of 2000")
	me.patch(path, `{"labels":`+encode(append(most, "1"))+`}`).ok() // a label twice is one
	me.put(path+"/labels/more", "").says(400, "over the limit of 2000")
	me.put(path+"/labels/7", "").ok() // it is there
	holds(name, 2000)
	tooLongAddress(t, r.url+path+"/labels/"+strings.Repeat("l", 30_000))
}

// tooLongAddress sends a request whose address the master does not read to its end. It answers and closes the connection; what
// is left unread resets it, and the client may lose the answer, so there are several tries.
func tooLongAddress(t *testing.T, address string) {
	t.Helper()
	var err error
	for range 20 {
		var resp *http.Response
		if resp, err = http.Get(address); errors.Is(err, syscall.ECONNRESET) {
			continue
		}
		if err != nil {
			break
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(body), "28 KB") {
			t.Errorf("an address that is too long: %d %s", resp.StatusCode, body)
		}
		return
	}
	t.Errorf("an address that is too long: %.200v", err)
}

// TestUniqueNames: PostgreSQL's indexes hold the longest names that must be unique, also if they do not compress.
func TestUniqueNames(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
	name := ""
	for i := range 2600 / 4 { // characters of four bytes
		name += string(rune(0x20000 + i*7919%0xa000))
	}
	if len(name) != names.MaxUnique {
		t.Fatal(len(name))
	}
	b, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	own := admin.ownWorkspace()
	for _, path := range []string{"/api/v1/workspaces", fmt.Sprintf("/api/v1/workspaces/%v/projects", own), "/api/v1/models"} {
		body := fmt.Sprintf(`{"workspaceId":%v,"name":`, own) + string(b) + `}`
		admin.post(path, body).ok()
		if got := admin.post(path, body); got.code != 409 {
			t.Errorf("%s: a name again: %d", path, got.code)
		}
		admin.post(path, strings.Replace(body, `"name":"`, `"name":"x`, 1)).says(400, "has 2601 bytes, over the limit of 2600")
	}
	admin.post("/api/v1/templates/"+url.PathEscape(name), `{"config":{"description":"d"}}`).ok()
	if got := at(t, admin.get("/api/v1/models/"+url.PathEscape(name)).ok().tree(), "model.name"); got != name {
		t.Errorf("the model by its name: %v", got)
	}
}
