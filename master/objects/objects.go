// Package objects reads checkpoints out of S3 and of what speaks like it, for the
// users who download them through the master, and removes them, for the tasks that
// do so. It is the only package that knows how to talk to an object store, and it
// writes nothing there.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/detent-ml/detent/master/fault"
)

// defaultRegion is what stores that know no regions are told.
const defaultRegion = "us-east-1"

// silentFor is how long a store may be silent.
const silentFor = time.Minute

// What a store may answer to one listing. Nobody's checkpoint has so many files, and
// a store that is somebody's program may go on for ever.
const (
	maxKeys  = 1_000_000
	maxPages = 10_000
)

// findWithin bounds the search for names, in times that the store may be silent.
const findWithin = 4

// maxText is how much of a store's own words is passed on.
const maxText = 200

var errSilent = errors.New("the object store is silent")

// Keys sign in to a store.
type Keys struct {
	AccessKey, SecretKey, SessionToken string
	Expires                            time.Time // zero for keys that last
}

// Store is one bucket, and how to sign in there.
type Store struct {
	Bucket   string
	Endpoint string // "" for AWS
	Region   string
	// Keys gives the keys to use; nil finds them as AWS's own tools do: in the
	// environment, in their files, from the machine's role.
	Keys func(ctx context.Context) (Keys, error)
	// Refused is what to do when the store refuses them; it may be left out.
	Refused string
	// Silent is how long the store may be silent: until an answer to a call begins, and
	// between two parts of an object. A minute when zero.
	Silent time.Duration
}

// An Object is something in a bucket.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time
}

// A Bucket reads from a store, and removes.
type Bucket struct {
	name    string
	refused string
	silent  time.Duration
	keys    int // of one listing, at most
	pages   int // of one listing, at most
	client  *s3.Client
	way     *way
}

// Open makes the way to a store; it does not go there yet.
func Open(ctx context.Context, s Store) (*Bucket, error) {
	var cfg aws.Config
	if s.Keys != nil {
		cfg.Credentials = aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			k, err := s.Keys(ctx)
			return aws.Credentials{AccessKeyID: k.AccessKey, SecretAccessKey: k.SecretKey, SessionToken: k.SessionToken,
				CanExpire: !k.Expires.IsZero(), Expires: k.Expires}, err
		}))
	} else {
		found, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "the master finds no way to sign in to S3: %v", err)
		}
		cfg = found
	}
	if s.Region != "" {
		cfg.Region = s.Region
	}
	if cfg.Region == "" {
		cfg.Region = defaultRegion
	}
	to := newWay(cfg)
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = answers{to}
		if s.Endpoint != "" {
			o.BaseEndpoint = aws.String(s.Endpoint)
			o.UsePathStyle = true // a name of its own for each bucket is AWS's alone
		}
		// Checksums beyond those of the signature are something that not every store knows.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	b := &Bucket{name: s.Bucket, refused: s.Refused, silent: s.Silent, keys: maxKeys, pages: maxPages, client: client, way: to}
	if b.silent == 0 {
		b.silent = silentFor
	}
	return b, nil
}

// Close lets go of the connections to the store.
func (b *Bucket) Close() { b.way.Close() }

// List lists what lies below a prefix.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	var list []Object
	err := b.each(ctx, prefix, func(o Object) bool {
		list = append(list, o)
		return true
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Find says which of the names lie below a prefix.
func (b *Bucket) Find(ctx context.Context, prefix string, names []string) (map[string]bool, error) {
	missing, found := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	if len(missing) == 0 {
		return found, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, findWithin*b.silent, errSilent)
	defer cancel()
	err := b.each(ctx, prefix, func(o Object) bool {
		name, below := strings.CutPrefix(o.Key, prefix)
		if below && missing[name] {
			found[name] = true
			delete(missing, name)
		}
		return len(missing) > 0
	})
	return found, err
}

// each calls take for what lies below a prefix, until that has enough.
func (b *Bucket) each(ctx context.Context, prefix string, take func(Object) bool) error {
	list := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix},
		func(o *s3.ListObjectsV2PaginatorOptions) { o.StopOnDuplicateToken = true })
	keys := 0
	for pages := 0; list.HasMorePages(); pages++ {
		page, err := b.page(ctx, list, prefix)
		if err != nil {
			return err
		}
		keys += len(page.Contents)
		if keys > b.keys || pages >= b.pages {
			return fault.New(fault.Invalid, "the object store lists more than %d objects, or more than %d pages of them, below s3://%s/%s", b.keys, b.pages, b.name, prefix)
		}
		for _, o := range page.Contents {
			if !take(Object{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)}) {
				return nil
			}
		}
	}
	return nil
}

func (b *Bucket) page(ctx context.Context, list *s3.ListObjectsV2Paginator, prefix string) (*s3.ListObjectsV2Output, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.silent, errSilent)
	defer cancel()
	page, err := list.NextPage(ctx)
	if err != nil {
		return nil, b.fault(ctx, err, prefix)
	}
	return page, nil
}

// Get reads an object; what it gives is to be closed.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	silent := time.AfterFunc(b.silent, func() { cancel(errSilent) })
	got, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key}, func(o *s3.Options) { o.HTTPClient = contents{b.way} })
	silent.Stop()
	if err == nil && got.ContentLength == nil { // an archive says a file's size before the file
		err = errors.Join(fault.New(fault.Unavailable, "the object store does not say how large s3://%s/%s is", b.name, key), got.Body.Close())
	}
	if err != nil {
		err = b.fault(ctx, err, key)
		cancel(nil)
		return nil, Object{}, err
	}
	body := &content{ReadCloser: got.Body, silent: silent, within: b.silent, cancel: cancel,
		late: func() error { return b.late(ctx, key) }}
	return body, Object{Key: key, Size: aws.ToInt64(got.ContentLength), Modified: aws.ToTime(got.LastModified)}, nil
}

// Remove removes an object. One that is not there is no error. Objects go one by
// one: not every store has S3's call for many, and a session that may remove below
// one prefix only is refused it by some that have.
func (b *Bucket) Remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.silent, errSilent)
	defer cancel()
	if _, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key}); err != nil {
		if err = b.fault(ctx, err, key); !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// late is what to say of a call that ended because the store was silent; nil of others.
func (b *Bucket) late(ctx context.Context, key string) error {
	if !errors.Is(context.Cause(ctx), errSilent) {
		return nil
	}
	return fault.Wrap(fault.Unavailable, errSilent, "the object store does not answer for s3://%s/%s within %s", b.name, key, b.silent)
}

// fault words what a store says.
func (b *Bucket) fault(ctx context.Context, err error, key string) error {
	what := fmt.Sprintf("s3://%s/%s", b.name, key)
	var known *fault.Fault
	if errors.As(err, &known) { // of the keys
		return known
	}
	if late := b.late(ctx, key); late != nil {
		return late
	}
	if err := redirected(err, what); err != nil {
		return err
	}
	var said smithy.APIError
	if !errors.As(err, &said) {
		return fault.Wrap(fault.Unavailable, err, "the object store does not answer for %s: %v", what, innermost(err))
	}
	text := fault.ClipTo(strings.TrimSpace(said.ErrorCode()+" "+said.ErrorMessage()), maxText)
	switch said.ErrorCode() {
	case "NoSuchKey", "NotFound", "NoSuchBucket":
		return fault.Wrap(fault.NotFound, err, "there is no %s", what)
	case "AccessDenied", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken":
		return fault.Wrap(fault.Unavailable, err, "the store refuses these credentials for %s (%s)%s", what, said.ErrorCode(), b.remedy())
	}
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) && answer.HTTPStatusCode() < http.StatusInternalServerError {
		return fault.Wrap(fault.Invalid, err, "the object store refuses %s: %s", what, text)
	}
	return fault.Wrap(fault.Unavailable, err, "the object store fails for %s: %s", what, text)
}

// redirected is what to say of an answer that leads elsewhere; nil of others. AWS
// answers so for a bucket of another region, and names the region.
func redirected(err error, what string) error {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil || answer.HTTPStatusCode()/100 != 3 {
		return nil
	}
	if region := answer.Response.Header.Get("X-Amz-Bucket-Region"); region != "" {
		return fault.Wrap(fault.Invalid, err, "%s lies in region %s, and this is not the region that is configured (s3_region)", what, fault.ClipTo(region, maxText))
	}
	return fault.Wrap(fault.Invalid, err, "the object store answers for %s with a redirect (%d); redirects of stores are not followed", what, answer.HTTPStatusCode())
}

func (b *Bucket) remedy() string {
	if b.refused == "" {
		return ""
	}
	return ": " + b.refused
}

func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
