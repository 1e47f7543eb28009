package objects

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/nomad/servers/objecttest"
)

// A kind is a store of one kind with a bucket that is empty.
type kind struct {
	*Bucket
	put     func(key, text string)
	refused func() *Bucket // the same with credentials that are wrong; nil where nobody signs in
	missing func() *Bucket // a bucket that does not exist
	lax     bool           // it checks no signature of an address
	both    bool           // of two parts with one number that arrive within a second, it does not say which is newer
}

// kinds start a real store of each kind.
func kinds() map[string]func(t *testing.T) kind {
	return map[string]func(t *testing.T) kind{"S3": ofS3, "GCS": ofGCS, "Azure": ofAzure}
}

func ofS3(t *testing.T) kind {
	at := objecttest.StartS3(t)
	open := func(bucket, secret string) *Bucket {
		b, err := Open(t.Context(), Store{Bucket: bucket, Endpoint: at.URL, Keys: func(context.Context) (Keys, error) {
			return Keys{AccessKey: at.AccessKey, SecretKey: secret}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
	k := kind{Bucket: open("bucket", at.SecretKey), both: true}
	client := k.store.(*s3Store).client
	name := "bucket"
	for end := time.Now().Add(atLeast); ; {
		_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name})
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	k.put = func(key, text string) {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &name, Key: &key, Body: strings.NewReader(text)}); err != nil {
			t.Fatal(err)
		}
	}
	k.refused = func() *Bucket { return open("bucket", "wrong") }
	k.missing = func() *Bucket { return open("nowhere", at.SecretKey) }
	return k
}

func ofGCS(t *testing.T) kind {
	at, account := objecttest.StartGCS(t, "bucket"), objecttest.GoogleAccount(t)
	open := func(bucket string) *Bucket {
		b := OpenGCS(GCS{Bucket: bucket, Endpoint: at, Credentials: func(context.Context) ([]byte, error) { return account, nil }})
		t.Cleanup(b.Close)
		return b
	}
	return kind{Bucket: open("bucket"), lax: true, put: func(key, text string) {
		objecttest.Post(t, at+"/upload/storage/v1/b/bucket/o?uploadType=media&name="+url.QueryEscape(key), "application/octet-stream", text)
	}, missing: func() *Bucket { return open("nowhere") }}
}

func ofAzure(t *testing.T) kind {
	at := objecttest.StartAzure(t)
	open := func(container, key string) *Bucket {
		account, err := AzureByString(fmt.Sprintf("AccountName=%s;AccountKey=%s;BlobEndpoint=%s", at.Account, key, at.URL))
		if err != nil {
			t.Fatal(err)
		}
		b, err := OpenAzure(Azure{Container: container, AzureAccount: account})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
	k := kind{Bucket: open("bucket", at.Key)}
	s := k.store.(*azureStore)
	send := func(address, text string, more http.Header) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = azureHeader()
		for name := range more {
			req.Header.Set(name, more.Get(name))
		}
		if err := s.sign(req); err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			said, _ := io.ReadAll(resp.Body)
			t.Fatalf("%s: %s: %s", address, resp.Status, said)
		}
	}
	send(s.url("", url.Values{"restype": {"container"}}), "", nil)
	k.put = func(key, text string) { send(s.url(key, nil), text, http.Header{"X-Ms-Blob-Type": {"BlockBlob"}}) }
	k.refused = func() *Bucket { return open("bucket", "d3Jvbmc=") }
	k.missing = func() *Bucket { return open("nowhere", at.Key) }
	return k
}

// TestKindsOfStoresAreAlike: reading, listing and removing have the same results and errors in each kind
// of store.
func TestKindsOfStoresAreAlike(t *testing.T) {
	for name, start := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := start(t)
			k.conforms(t)
			k.refuses(t)
		})
	}
}

func (k kind) conforms(t *testing.T) {
	ctx := t.Context()
	files := map[string]string{"p/1/a": "1", "p/1/sub/b.bin": strings.Repeat("0123456789", 100_000), "p/1/empty": "",
		"p/1/a b+c%20d&e=f/ü#?.txt": "odd", "p/10/a": "another's"}
	for key, text := range files {
		k.put(key, "before")
		if err := k.Put(ctx, key, strings.NewReader(text), int64(len(text))); err != nil {
			t.Errorf("write %s: %v", key, err)
		}
	}
	list, err := k.List(ctx, "p/1/")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, o := range list {
		got[o.Key] = o.Size
		if age := time.Since(o.Modified); age < -time.Hour || age > time.Hour {
			t.Errorf("%s was changed %s ago", o.Key, age)
		}
	}
	want := map[string]int64{}
	for key, text := range files {
		if strings.HasPrefix(key, "p/1/") {
			want[key] = int64(len(text))
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	if found, err := k.Find(ctx, "p/1/", []string{"a", "sub/b.bin", "c"}); err != nil || len(found) != 2 || !found["a"] || !found["sub/b.bin"] {
		t.Errorf("found %v, %v", found, err)
	}
	for prefix, want := range map[string][]string{"": {"p"}, "p/": {"1", "10"}, "p/1/": {"a b+c%20d&e=f", "sub"}, "p/1": {"", "0"}, "q/": nil} {
		if folders, err := k.Folders(ctx, prefix); err != nil || !slices.Equal(folders, want) {
			t.Errorf("the folders below %q are %q, want %q; %v", prefix, folders, want, err)
		}
	}
	if none, err := k.List(ctx, "q/"); err != nil || len(none) > 0 {
		t.Errorf("where nothing is: %v, %v", none, err)
	}
	for key, text := range files {
		body, o, err := k.Get(ctx, key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		got, err := io.ReadAll(body)
		if string(got) != text || o.Size != int64(len(text)) || o.Key != key || o.Modified.IsZero() || err != nil {
			t.Errorf("%s: %d bytes, %+v, %v", key, len(got), o, err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, again := range []string{"once", "twice"} {
		for key := range want {
			if err := k.Remove(ctx, key); err != nil {
				t.Errorf("%s, %s: %v", key, again, err)
			}
		}
	}
	left, err := k.List(ctx, "p/")
	if err != nil || len(left) != 1 || left[0].Key != "p/10/a" {
		t.Errorf("left: %v, %v", left, err)
	}
	k.manyPages(t)
}

// manyPages: a listing of several pages has all, each once.
func (k kind) manyPages(t *testing.T) {
	switch s := k.store.(type) {
	case *s3Store:
		s.size = 10
	case *gcsStore:
		s.size = 10
	case *azureStore:
		s.size = 10
	}
	var want []string
	for i := range 25 {
		key := fmt.Sprintf("many/%04d", i)
		want = append(want, key)
		k.put(key, "x")
	}
	list, err := k.List(t.Context(), "many/")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range list {
		got = append(got, o.Key)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%v in pages, want %v", got, want)
	}
}

func (k kind) refuses(t *testing.T) {
	if _, _, err := k.Get(t.Context(), "p/nothing"); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "there is no ") || !strings.HasSuffix(err.Error(), "p/nothing") {
		t.Errorf("an object that does not exist: %v", err)
	}
	if _, err := k.missing().List(t.Context(), "p/"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a bucket that is not there: %v", err)
	}
	if k.refused == nil {
		return
	}
	for name, call := range calls(k.refused()) {
		if err := call(t.Context()); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "the store rejects these credentials") {
			t.Errorf("%s with a wrong key: %v", name, err)
		}
	}
}

// TestPartsOfObjects: each kind of store makes an object of parts, in whatever order they arrive, and has nothing of them if they are given up.
func TestPartsOfObjects(t *testing.T) {
	for name, start := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start(t).parted(t)
		})
	}
}

func (k kind) parted(t *testing.T) {
	ctx, key := t.Context(), "p/1/in parts/ü.bin"
	const large = 5 << 20 // S3 wants so much of all parts but the last
	texts := []string{strings.Repeat("a", large), strings.Repeat("b", large), "the end"}
	begun := func() string {
		id, err := k.BeginParts(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	put := func(id string, n int, text string) {
		t.Helper()
		if err := k.PutPart(ctx, key, id, n, strings.NewReader(text), int64(len(text))); err != nil {
			t.Fatalf("part %d: %v", n, err)
		}
	}
	id, other := begun(), begun()
	for _, n := range []int{3, 1} {
		put(id, n, texts[n-1])
	}
	put(other, 1, "of another upload")
	if _, err := k.FinishParts(ctx, key, id, 3, 1<<40); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "part 2 of 3") {
		t.Errorf("without the second part: %v", err)
	}
	if !k.both {
		put(id, 2, "is replaced")
	}
	put(id, 2, texts[1])
	if _, err := k.FinishParts(ctx, key, id, 3, 2*large); !fault.Is(err, fault.TooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if err := k.DropParts(ctx, key, other); err != nil {
		t.Error(err)
	}
	if size, err := k.MeasureParts(ctx, key, id, 3, 1<<40); err != nil || size != int64(2*large+len(texts[2])) {
		t.Errorf("the parts have %d bytes, %v", size, err)
	}
	if size, err := k.FinishParts(ctx, key, id, 3, 1<<40); err != nil || size != int64(2*large+len(texts[2])) {
		t.Fatalf("%d bytes: %v", size, err)
	}
	body, o, err := k.Get(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if err != nil || string(got) != strings.Join(texts, "") || o.Size != int64(len(got)) {
		t.Errorf("the object has %d bytes of %d: %v", len(got), o.Size, err)
	}
	if list, err := k.List(ctx, "p/1/"); err != nil || len(list) != 1 {
		t.Errorf("%v is there: %v", list, err)
	}
	if err := k.DropParts(ctx, key, id); err != nil {
		t.Errorf("dropped after its end: %v", err)
	}
	k.signed(t, key)
}

// signed sends and reads an object at signed addresses, without credentials.
func (k kind) signed(t *testing.T, key string) {
	ctx, texts := t.Context(), []string{strings.Repeat("c", 5<<20), "another end"}
	id, err := k.BeginParts(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := k.SignParts(ctx, key, id, 2, time.Minute)
	if err != nil || len(addresses) != 2 {
		t.Fatalf("%v: %v", addresses, err)
	}
	for i, text := range texts {
		if status, said := asked(t, http.MethodPut, addresses[i], text); status/100 != 2 {
			t.Errorf("part %d: %d %s", i+1, status, said)
		}
	}
	if size, err := k.FinishParts(ctx, key, id, 2, 1<<40); err != nil || size != 5<<20+11 {
		t.Errorf("%d bytes: %v", size, err)
	}
	address, err := k.SignGet(ctx, key, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if status, text := asked(t, http.MethodGet, address, ""); status != http.StatusOK || text != strings.Join(texts, "") {
		t.Errorf("read: %d, %d bytes", status, len(text))
	}
	if list, err := k.List(ctx, "p/1/"); err != nil || len(list) != 1 {
		t.Errorf("%v is there: %v", list, err)
	}
	if k.lax {
		return
	}
	for why, forged := range map[string]string{"another key": strings.Replace(address, "in%20parts", "out", 1), "a longer life": longer.ReplaceAllString(address, "${1}9")} {
		if status, said := asked(t, http.MethodGet, forged, ""); status != http.StatusForbidden || forged == address {
			t.Errorf("%s: %d %.200s", why, status, said)
		}
	}
	if status, said := asked(t, http.MethodPut, address, "x"); status/100 != 4 {
		t.Errorf("an address for reading writes: %d %.200s", status, said)
	}
}

// longer finds the place where the life of an address grows: of a number of seconds, or of a year.
var longer = regexp.MustCompile(`((?:X-Amz-Expires=|[?&]se=)\d)`)

// asked makes a request without credentials.
func asked(t *testing.T, method, address, text string) (status int, said string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestManyPartsOfGoogle: Google's storage makes one object of as many parts as one call takes, so more need several calls.
func TestManyPartsOfGoogle(t *testing.T) {
	k := ofGCS(t)
	id, err := k.BeginParts(t.Context(), "many")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	const n = 2*composed + 3
	for i := range n {
		text := fmt.Sprintf("part %d;", i)
		want.WriteString(text)
		if err := k.PutPart(t.Context(), "many", id, i+1, strings.NewReader(text), int64(len(text))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.FinishParts(t.Context(), "many", id, n, 1<<20); err != nil {
		t.Fatal(err)
	}
	body, _, err := k.Get(t.Context(), "many")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(body); err != nil || string(got) != want.String() {
		t.Errorf("%q: %v", got, err)
	}
	if list, err := k.List(t.Context(), ""); err != nil || len(list) != 1 {
		t.Errorf("%v is there: %v", list, err)
	}
}

// TestAPartThatIsSentAgain: the newest of two parts with one number counts.
func TestAPartThatIsSentAgain(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	got := newestOfEach([]part{{2, 7, "old", at(1)}, {1, 5, "only", at(3)}, {2, 9, "new", at(2)}})
	if want := []part{{1, 5, "only", at(3)}, {2, 9, "new", at(2)}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
