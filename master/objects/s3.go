package objects

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
)

// defaultRegion is the region for stores without regions.
const defaultRegion = "us-east-1"

// Keys are credentials of S3.
type Keys struct {
	AccessKey, SecretKey, SessionToken string
	Expires                            time.Time // zero: no expiry
}

// Store is one bucket of S3 or of a compatible store, with credentials.
type Store struct {
	Bucket   string
	Endpoint string // "" for AWS
	Region   string
	// Keys returns the credentials; nil: find them as AWS's tools do, in the environment, in
	// their files, from the machine's role.
	Keys func(ctx context.Context) (Keys, error)
	Patience
}

// s3Store is a bucket of S3.
type s3Store struct {
	name   string
	client *s3.Client
	size   int32 // of a page of a listing; 0: the store's default
	*way
}

// Open makes a client of a store; it sends no request.
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
			return nil, fault.Wrap(fault.Unavailable, err, "cannot find credentials for S3: %v", err)
		}
		cfg = found
	}
	cfg.Region = cmp.Or(s.Region, cfg.Region, defaultRegion)
	to := newWay(transportOf(cfg))
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = answers{to}
		if s.Endpoint != "" {
			o.BaseEndpoint = aws.String(s.Endpoint)
			o.UsePathStyle = true // only AWS has a host name for each bucket
		}
		// Not every store supports checksums beyond those of the signature.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	return newBucket(&s3Store{name: s.Bucket, client: client, way: to}, s.Patience), nil
}

// transportOf is AWS's transport, with the authorities of AWS_CA_BUNDLE.
func transportOf(cfg aws.Config) *http.Transport {
	from, ok := cfg.HTTPClient.(*awshttp.BuildableClient)
	if !ok {
		from = awshttp.NewBuildableClient()
	}
	return from.GetTransport()
}

func (s *s3Store) at(key string) string { return "s3://" + s.name + "/" + key }

func (s *s3Store) page(ctx context.Context, prefix, mark string) ([]Object, string, error) {
	page, err := s.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
		Bucket: &s.name, Prefix: &prefix, MaxKeys: optional.NonZero(s.size), ContinuationToken: optional.NonZero(mark),
	})
	if err != nil {
		return nil, "", err
	}
	list := make([]Object, 0, len(page.Contents))
	for _, o := range page.Contents {
		list = append(list, Object{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)})
	}
	if !aws.ToBool(page.IsTruncated) {
		return list, "", nil
	}
	return list, aws.ToString(page.NextContinuationToken), nil
}

func (s *s3Store) open(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	got, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.name, Key: &key}, func(o *s3.Options) { o.HTTPClient = contents{s.way} })
	if err != nil {
		return nil, Object{}, err
	}
	return got.Body, Object{Key: key, Size: optional.Or(got.ContentLength, -1), Modified: aws.ToTime(got.LastModified)}, nil
}

func (s *s3Store) remove(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.name, Key: &key})
	return err
}

func (s *s3Store) put(ctx context.Context, key string, from *io.SectionReader) error {
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.name, Key: &key, Body: from, ContentLength: aws.Int64(from.Size())})
	return err
}

func (s *s3Store) fault(err error, what, remedy string) error {
	if err := redirected(err, what); err != nil {
		return err
	}
	var said smithy.APIError
	if !errors.As(err, &said) {
		return noAnswer(err, what)
	}
	text := fault.ClipTo(strings.TrimSpace(said.ErrorCode()+" "+said.ErrorMessage()), maxText)
	switch said.ErrorCode() {
	case "NoSuchKey", "NotFound", "NoSuchBucket", "NoSuchUpload":
		return fault.Wrap(fault.NotFound, err, "there is no %s", what)
	case "AccessDenied", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken":
		return fault.Wrap(fault.Unavailable, err, "the store rejects these credentials for %s (%s)%s", what, said.ErrorCode(), remedy)
	}
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) && answer.HTTPStatusCode() < http.StatusInternalServerError {
		return fault.Wrap(fault.Invalid, err, "the object store rejects %s: %s", what, text)
	}
	return fault.Wrap(fault.Unavailable, err, "the object store failed for %s: %s", what, text)
}

// redirected is the error for a redirect; nil for other errors. AWS redirects for a bucket of
// another region, and names the region.
func redirected(err error, what string) error {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil || answer.HTTPStatusCode()/100 != 3 {
		return nil
	}
	if region := answer.Response.Header.Get("X-Amz-Bucket-Region"); region != "" {
		return fault.Wrap(fault.Invalid, err, "%s lies in region %s, but another region is configured (s3_region)", what, fault.ClipTo(region, maxText))
	}
	return elsewhere(err, what, answer.HTTPStatusCode())
}
