// Package objects reads checkpoints out of S3 and of what speaks like it, for the
// people who download them through the master, and removes them, for the tasks that
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

	"github.com/detent-ml/detent/master/fault"
)

// defaultRegion is what stores that know no regions are told.
const defaultRegion = "us-east-1"

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
	client  *s3.Client
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
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		if s.Endpoint != "" {
			o.BaseEndpoint = aws.String(s.Endpoint)
			o.UsePathStyle = true // a name of its own for each bucket is AWS's alone
		}
		// Checksums beyond those of the signature are something that not every store knows.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	return &Bucket{name: s.Bucket, refused: s.Refused, client: client}, nil
}

// List lists what lies below a prefix.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	var list []Object
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, b.fault(err, prefix)
		}
		for _, o := range page.Contents {
			list = append(list, Object{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)})
		}
	}
	return list, nil
}

// Get reads an object; what it gives is to be closed.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	got, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key})
	if err != nil {
		return nil, Object{}, b.fault(err, key)
	}
	return got.Body, Object{Key: key, Size: aws.ToInt64(got.ContentLength), Modified: aws.ToTime(got.LastModified)}, nil
}

// Remove removes an object. One that is not there is no error. Objects go one by
// one: not every store has S3's call for many, and a session that may remove below
// one prefix only is refused it by some that have.
func (b *Bucket) Remove(ctx context.Context, key string) error {
	if _, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key}); err != nil {
		if err = b.fault(err, key); !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// fault words what a store says.
func (b *Bucket) fault(err error, key string) error {
	what := fmt.Sprintf("s3://%s/%s", b.name, key)
	var known *fault.Fault
	if errors.As(err, &known) { // of the keys
		return known
	}
	var said smithy.APIError
	if !errors.As(err, &said) {
		return fault.Wrap(fault.Unavailable, err, "the object store does not answer for %s: %v", what, innermost(err))
	}
	switch said.ErrorCode() {
	case "NoSuchKey", "NotFound", "NoSuchBucket":
		return fault.Wrap(fault.NotFound, err, "there is no %s", what)
	case "AccessDenied", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken":
		return fault.Wrap(fault.Unavailable, err, "the store refuses these credentials for %s (%s)%s", what, said.ErrorCode(), b.remedy())
	}
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) && answer.HTTPStatusCode() < http.StatusInternalServerError {
		return fault.Wrap(fault.Invalid, err, "the object store refuses %s: %s", what, strings.TrimSpace(said.ErrorCode()+" "+said.ErrorMessage()))
	}
	return fault.Wrap(fault.Unavailable, err, "the object store fails for %s: %s", what, strings.TrimSpace(said.ErrorCode()+" "+said.ErrorMessage()))
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
