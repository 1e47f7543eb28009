package sink

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// received is what a receiver has got: the text of each line, by log and number, and how often.
type received struct {
	mu    sync.Mutex
	texts map[string]string
	times map[string]int
	order map[string][]int // numbers of new lines, by log
	last  map[string]string
}

func newReceived() *received {
	return &received{texts: map[string]string{}, times: map[string]int{}, order: map[string][]int{}}
}

func (r *received) add(log, number, text string, attributes map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := log + ":" + number
	if r.times[key] == 0 {
		n, _ := strconv.Atoi(number)
		r.order[log] = append(r.order[log], n)
	}
	r.texts[key], r.last = text, attributes
	r.times[key]++
}

func (r *received) count(log string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.order[log])
}

func (r *received) text(log string, number int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.texts[fmt.Sprint(log, ":", number)]
}

// collector is a receiver of OTLP's JSON, which rejects what is not in this form.
type collector struct {
	*received
	*httptest.Server
	mu     sync.Mutex
	fails  int    // answer with this status; 0: take the lines
	poison string // answer 400 to requests with this text
	asks   int
	header http.Header
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{received: newReceived()}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) set(fails int, poison string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails, c.poison = fails, poison
}

func (c *collector) asked() (int, http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asks, c.header
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	c.asks++
	c.header = r.Header
	fails, poison := c.fails, c.poison
	c.mu.Unlock()
	switch {
	case err != nil:
		return
	case fails != 0:
		http.Error(w, "not now", fails)
		return
	case r.URL.Path != "/v1/logs" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json":
		http.Error(w, "not found", http.StatusNotFound)
		return
	case poison != "" && strings.Contains(string(body), poison):
		http.Error(w, "a line cannot be stored", http.StatusBadRequest)
		return
	}
	var said struct {
		ResourceLogs []struct {
			Resource  struct{ Attributes []struct{ Key, Value any } }
			ScopeLogs []struct {
				Scope      struct{ Name string }
				LogRecords []struct {
					TimeUnixNano   string
					SeverityNumber int
					SeverityText   string
					Body           struct{ StringValue string }
					Attributes     []struct {
						Key   string
						Value struct {
							StringValue string
							IntValue    string
						}
					}
				}
			}
		}
	}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&said); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, record := range said.ResourceLogs[0].ScopeLogs[0].LogRecords {
		all := map[string]string{"severity": record.SeverityText}
		for _, a := range record.Attributes {
			all[a.Key] = a.Value.StringValue + a.Value.IntValue
		}
		c.add(all["detent.task.id"], all["detent.line"], record.Body.StringValue, all)
	}
	fmt.Fprint(w, `{"partialSuccess":{}}`)
}

var rfc5424 = regexp.MustCompile(`(?s)^<(\d+)>1 (\S+) (\S+) detent (\S+) (task|master) \[detent@32473(.*?[^\\])\] (.*)$`)

// message takes a message of RFC 5424.
func (r *received) message(t *testing.T, text string) {
	m := rfc5424.FindStringSubmatch(text)
	if m == nil {
		t.Errorf("no message of RFC 5424: %.300q", text)
		return
	}
	number := regexp.MustCompile(` line="(\d+)"`).FindStringSubmatch(m[6])
	log := m[4]
	if log == "-" {
		log = ""
	}
	r.add(log, number[1], m[7], map[string]string{"priority": m[1], "host": m[3], "parameters": m[6]})
}

// serveSyslog takes messages that follow their lengths, from each connection.
func (r *received) serveSyslog(t *testing.T, ln net.Listener) {
	t.Helper()
	var all sync.WaitGroup
	t.Cleanup(func() { _ = ln.Close(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				in := bufio.NewReaderSize(conn, 1<<16)
				for {
					length, err := in.ReadString(' ')
					if err != nil {
						return
					}
					n, err := strconv.Atoi(strings.TrimSuffix(length, " "))
					if err != nil {
						t.Errorf("no length: %q", length)
						return
					}
					text := make([]byte, n)
					if _, err := io.ReadFull(in, text); err != nil {
						return
					}
					r.message(t, string(text))
				}
			})
		}
	})
}
