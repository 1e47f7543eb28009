package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/detent-ml/detent/master/control/rows"
)

func TestLogsByAPI(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	me, owner := a.ranks[0], r.user("determined")
	batch := `{"shipper":"s/0","first":0,"lines":[
		{"timestamp":"2026-11-20T04:22:01.5Z","log":"plain","stdtype":"stdout","source":"task","level":"LOG_LEVEL_UNSPECIFIED"},
		{"timestamp":"2026-11-20T04:22:02.123456Z","log":"ranked","stdtype":"stderr","source":"task","level":"LOG_LEVEL_INFO","rankId":3}]}`
	var gz, zs bytes.Buffer
	w := gzip.NewWriter(&gz)
	_, err1 := w.Write([]byte(batch))
	z, err2 := zstd.NewWriter(&zs)
	_, err3 := z.Write([]byte(batch))
	if err := errors.Join(err1, err2, err3, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	for encoding, body := range map[string][]byte{"": []byte(batch), "gzip": gz.Bytes(), "zstd": zs.Bytes()} { // three times the same
		h := http.Header{}
		if encoding != "" {
			h.Set("Content-Encoding", encoding)
		}
		if got := me.with("POST", "/api/v1/detent/logs", bytes.NewReader(body), h).ok().body; string(got) != `{"next":"2"}` {
			t.Errorf("%s: %s", encoding, got)
		}
	}
	me.with("POST", "/api/v1/detent/logs", strings.NewReader("nonsense"), http.Header{"Content-Encoding": {"gzip"}}).says(400, "gzip")
	me.with("POST", "/api/v1/detent/logs", strings.NewReader("nonsense"), http.Header{"Content-Encoding": {"zstd"}}).says(400, "cannot unpack the body")
	me.with("POST", "/api/v1/detent/logs", strings.NewReader("x"), http.Header{"Content-Encoding": {"lzma"}}).says(400, "lzma")
	me.post("/api/v1/detent/logs", `{"lines":[]}`).says(400, "shipper")
	me.post("/api/v1/task/logs", `{"logs":[{"task_id":"`+a.task+`","allocation_id":"`+a.id+`","container_id":"0123456789ab","agent_id":"node-7","rank_id":1,
		"timestamp":"2026-11-20T04:22:03.000001+00:00","log":"theirs\n","stdtype":"stdout","source":"task","level":"LOG_LEVEL_WARNING"}]}`).ok()
	me.post("/task-logs", `[{"task_id":"`+a.task+`","timestamp":"2026-11-20T04:22:04","log":"old\n"}]`).ok()
	me.post("/task-logs", `[{"task_id":"`+a.task+`","id":5,"log":"x"}]`).says(400, "id")
	me.post("/task-logs", `[{"task_id":"`+a.task+`","log":"x"},{"task_id":"other","log":"x"}]`).says(400, "one task")

	logs := fmt.Sprintf("/api/v1/trials/%d/logs", a.trial)
	nomad := "nomad-" + a.id + "-0"
	want := fmt.Sprintf(`{"result":{"id":"1","level":"LOG_LEVEL_UNSPECIFIED","message":"[2026-11-20T04:22:01.500000Z] %[2]s || plain\n","timestamp":"2026-11-20T04:22:01.5Z","trialId":%[1]d,"agentId":"node-0","containerId":"%[3]s","log":"plain\n","source":"task","stdtype":"stdout"}}
{"result":{"id":"2","level":"LOG_LEVEL_INFO","message":"[2026-11-20T04:22:02.123456Z] %[2]s [rank=3] || INFO: ranked\n","timestamp":"2026-11-20T04:22:02.123456Z","trialId":%[1]d,"agentId":"node-0","containerId":"%[3]s","log":"ranked\n","rankId":3,"source":"task","stdtype":"stderr"}}
{"result":{"id":"3","level":"LOG_LEVEL_WARNING","message":"[2026-11-20T04:22:03.000001Z] 01234567 [rank=1] || WARNING: theirs\n","timestamp":"2026-11-20T04:22:03.000001Z","trialId":%[1]d,"agentId":"node-7","containerId":"0123456789ab","log":"theirs\n","rankId":1,"source":"task","stdtype":"stdout"}}
{"result":{"id":"4","level":"LOG_LEVEL_UNSPECIFIED","message":"[2026-11-20T04:22:04.000000Z]          || old\n","timestamp":"2026-11-20T04:22:04Z","trialId":%[1]d,"log":"old\n"}}
`, a.trial, nomad[:8], nomad)
	got := owner.get(logs).ok()
	if string(got.body) != want {
		t.Errorf("got\n%s\nwant\n%s", got.body, want)
	}
	if ct := got.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("the type is %s", ct)
	}
	for query, ids := range map[string]string{
		"limit=2": "1 2", "limit=2&orderBy=ORDER_BY_DESC": "4 3", "rankIds=3&rankIds=1": "2 3", "levels=LOG_LEVEL_INFO&levels=LOG_LEVEL_WARNING": "2 3",
		"stdtypes=stderr": "2", "sources=task": "1 2 3", "agentIds=node-7": "3", "containerIds=0123456789ab": "3", "searchText=THEIR": "3",
		"searchText=%5Ep&enableRegex=true": "1", "timestampAfter=2026-11-20T04:22:02.5Z": "3 4", "timestampBefore=2026-11-20T04:22:02Z": "1",
		"timestamp_after=2026-11-20T04:22:02.5Z&rank_ids=1": "3",
	} {
		if got := recordIDs(t, owner.get(logs+"?"+query).ok().body); got != ids {
			t.Errorf("%s: %s, want %s", query, got, ids)
		}
	}
	if got := recordIDs(t, owner.get("/api/v1/tasks/"+a.task+"/logs?allocationIds="+a.id).ok().body); got != "1 2 3" {
		t.Errorf("by attempt: %s", got)
	}
	if k := string(owner.get("/api/v1/tasks/" + a.task + "/logs?limit=1").ok().body); !strings.Contains(k, `"taskId":"`+a.task+`"`) || !strings.Contains(k, `"allocationId":"`+a.id+`"`) {
		t.Error(k)
	}
	owner.get(logs+"?follow=true&limit=5").says(400, "limit and follow")
	owner.get(logs+"?levels=LOUD").says(400, "LOUD")
	owner.get(logs+"?searchText=(&enableRegex=true").says(400, "searchText")
	owner.get("/api/v1/trials/99/logs").says(404, "trial 99")
	owner.get("/api/v1/tasks/none/logs").says(404, "none")
	r.anyone().get(logs).says(401)
	fields := string(owner.get(logs + "/fields").ok().body)
	if fields != `{"result":{"allocationIds":["`+a.id+`"],"agentIds":["node-0","node-7"],"containerIds":["0123456789ab","`+nomad+`"],"rankIds":[1,3],"stdtypes":["stderr","stdout"],"sources":["task"]}}`+"\n" {
		t.Error(fields)
	}
}

func recordIDs(t *testing.T, body []byte) string {
	t.Helper()
	var ids []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(body), "\n"), "\n") {
		var rec struct{ Result struct{ ID string } }
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		ids = append(ids, rec.Result.ID)
	}
	return strings.Join(ids, " ")
}

func TestFollowLogs(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	me, owner := a.ranks[0], r.user("determined")
	ship := func(first int, more string, texts ...string) {
		t.Helper()
		var lines []string
		for _, text := range texts {
			lines = append(lines, fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","log":%q}`, text))
		}
		me.post("/api/v1/detent/logs", fmt.Sprintf(`{"shipper":"s","first":%d,"lines":[%s]%s}`, first, strings.Join(lines, ","), more)).ok()
	}
	ship(0, "", "before")
	s := owner.open(fmt.Sprintf("/api/v1/trials/%d/logs?follow=true", a.trial), nil)
	expect := func(text string) {
		t.Helper()
		line, err := s.line()
		if err != nil || !strings.Contains(line, `"log":"`+text+`\n"`) {
			t.Fatalf("%q %v, want %s", line, err, text)
		}
	}
	expect("before")
	for i := 1; i <= 20; i++ {
		ship(i, "", fmt.Sprint("line ", i))
		expect(fmt.Sprint("line ", i))
	}
	r.apply(rows.Changes{Allocations: []rows.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "completed"}},
		Tasks: []rows.TaskChange{{ID: a.task, Ended: true}}})
	ship(21, `,"done":true`, "last words")
	expect("last words")
	if line, err := s.line(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %q %v", line, err) // io.EOF is a body that ended properly
	}
}
