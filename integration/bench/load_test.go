package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A wire is one open connection of HTTP/1.1, with a minimal client: the processor time of the load
// is missing on the server's two cores.
type wire struct {
	host string
	conn net.Conn
	r    *bufio.Reader
	buf  bytes.Buffer
}

func dial(b *testing.B, base string) *wire {
	b.Helper()
	u, err := url.Parse(base)
	if err != nil {
		b.Fatal(err)
	}
	var d net.Dialer
	conn, err := d.DialContext(b.Context(), "tcp", u.Host)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return &wire{host: u.Host, conn: conn, r: bufio.NewReaderSize(conn, 64<<10)}
}

func dialAll(b *testing.B, base string, n int) []*wire {
	list := make([]*wire, n)
	for i := range list {
		list[i] = dial(b, base)
	}
	return list
}

// call sends a request and reads the whole answer, which must be 200.
func (w *wire) call(method, path, token string, body []byte) ([]byte, error) {
	w.buf.Reset()
	fmt.Fprintf(&w.buf, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, w.host)
	if token != "" {
		fmt.Fprintf(&w.buf, "Authorization: Bearer %s\r\n", token)
	}
	if body != nil {
		fmt.Fprintf(&w.buf, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	w.buf.WriteString("\r\n")
	w.buf.Write(body)
	if _, err := w.conn.Write(w.buf.Bytes()); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(w.r, nil)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, answer)
	}
	return answer, err
}

// pace is the result of a load.
type pace struct {
	rate     float64 // calls per second
	p50, p99 float64 // milliseconds
	cpu      map[string]float64
}

// load has clients repeat a call for a while. Each counts its own calls.
func load(b *testing.B, clients int, call func(client int) error) pace {
	b.Helper()
	var wg sync.WaitGroup
	times, failed := make([][]time.Duration, clients), make([]error, clients)
	begin := time.Now()
	for c := range clients {
		wg.Go(func() {
			for at := time.Now(); at.Sub(begin) < *span; {
				if failed[c] = call(c); failed[c] != nil {
					return
				}
				now := time.Now()
				times[c] = append(times[c], now.Sub(at))
				at = now
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	var all []time.Duration
	for c := range clients {
		if failed[c] != nil {
			b.Fatal(failed[c])
		}
		all = append(all, times[c]...)
	}
	return pace{rate: float64(len(all)) / took.Seconds(), p50: ms(percentile(all, 50)), p99: ms(percentile(all, 99))}
}

// middle is the median of several measurements, each number by itself.
func middle(list []pace) pace {
	pick := func(of func(pace) float64) float64 {
		var all []float64
		for _, p := range list {
			all = append(all, of(p))
		}
		return median(all)
	}
	m := pace{rate: pick(func(p pace) float64 { return p.rate }), p50: pick(func(p pace) float64 { return p.p50 }),
		p99: pick(func(p pace) float64 { return p.p99 }), cpu: map[string]float64{}}
	for name := range list[0].cpu {
		m.cpu[name] = pick(func(p pace) float64 { return p.cpu[name] })
	}
	return m
}

// usage is the processor time of processes so far.
func usage(pids []int) (total time.Duration) {
	for _, pid := range pids {
		if f := stat(pid); len(f) > 14 {
			// The times of children that have ended are the server's own as well.
			for _, ticks := range f[11:15] {
				n, _ := strconv.ParseInt(ticks, 10, 64)
				total += time.Duration(n) * (time.Second / 100)
			}
		}
	}
	return total
}

// stat reads a process's state from the kernel, from the field `state` on: f[1] is its parent,
// f[11] to f[14] are its times in hundredths of a second.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// family is a process and its children.
func family(root int) []int {
	pids := []int{root}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if f := stat(pid); len(f) > 1 && f[1] == strconv.Itoa(root) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// resident is the memory of a process in MB: all that it holds, and the part
// that is its own and no file's.
func resident(pid int) (rss, own float64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); n == 1 {
			rss = kb / 1024
		} else if n, _ := fmt.Sscanf(line, "RssAnon: %f kB", &kb); n == 1 {
			own = kb / 1024
		}
	}
	return rss, own
}

// part is the process of a part of the cluster.
func (r *rig) part(b *testing.B, name string) int {
	b.Helper()
	p, err := r.Part(name)
	if err != nil {
		b.Fatal(err)
	}
	ids, err := p.Processes(b.Context())
	if err != nil || len(ids) == 0 {
		b.Fatalf("the processes of %s: %d, %v", name, len(ids), err)
	}
	return ids[0].Pid
}

// metered is a load with separate costs: microseconds of processor time per
// call, of the process that serves, of PostgreSQL, and of the load itself.
func (r *rig) metered(b *testing.B, server, clients int, call func(client int) error) pace {
	postgres, self := r.part(b, "postgres"), os.Getpid()
	now := func() map[string]time.Duration { // children that came meanwhile are in the second look
		return map[string]time.Duration{serving: usage([]int{server}), inDatabase: usage(family(postgres)), ofClients: usage([]int{self})}
	}
	before := now()
	begin := time.Now()
	p := load(b, clients, call)
	calls := p.rate * time.Since(begin).Seconds()
	p.cpu = map[string]float64{}
	for name, used := range now() {
		p.cpu[name] = float64((used - before[name]).Microseconds()) / calls
	}
	return p
}

// The processes whose processor time is measured.
const (
	serving    = "the master"
	inDatabase = "PostgreSQL"
	ofClients  = "the clients"
)

// alternately runs each of the measurements once per round, so that a busy
// minute of the machine's hits all of them.
func alternately(measure ...func() pace) []pace {
	found := make([][]pace, len(measure))
	for range *rounds {
		for i, m := range measure {
			found[i] = append(found[i], m())
		}
	}
	result := make([]pace, len(measure))
	for i := range found {
		result[i] = middle(found[i])
	}
	return result
}

// repeat times a thing n times.
func repeat(ctx context.Context, n int, do func(ctx context.Context) error) ([]time.Duration, error) {
	var all []time.Duration
	for range n {
		at := time.Now()
		if err := do(ctx); err != nil {
			return nil, err
		}
		all = append(all, time.Since(at))
	}
	return all, nil
}

func plural(clients int) string {
	if clients == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", clients)
}
