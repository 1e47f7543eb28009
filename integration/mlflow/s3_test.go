package mlflow

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/api"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/objects"
	"github.com/detent-ml/detent/master/server/servertest"
	"github.com/detent-ml/detent/nomad/servers/objecttest"
)

// aBucket is a bucket for the API, as package server makes it.
type aBucket struct{ *objects.Bucket }

func (b aBucket) Get(ctx context.Context, key string) (io.ReadCloser, checkpoints.Object, error) {
	body, o, err := b.Bucket.Get(ctx, key)
	return body, checkpoints.Object{Key: o.Key, Size: o.Size, Modified: o.Modified}, err
}

func clientOf(at objecttest.S3) *s3.Client {
	return s3.New(s3.Options{BaseEndpoint: &at.URL, UsePathStyle: true, Region: "us-east-1", Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: at.AccessKey, SecretAccessKey: at.SecretKey}, nil
	})})
}

// makeBucket makes a bucket; the store may need a moment before it does.
func makeBucket(t *testing.T, at objecttest.S3, name string) {
	t.Helper()
	client := clientOf(at)
	for end := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name})
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// inS3 starts a master whose checkpoint storage is in S3.
func inS3(t *testing.T, at objecttest.S3, throughMaster bool) (*servertest.Master, opens) {
	makeBucket(t, at, "detent")
	open := func(ctx context.Context, s expconf.CheckpointStorage) (checkpoints.Bucket, error) {
		b, err := objects.Open(ctx, objects.Store{Bucket: s.Bucket, Endpoint: at.URL, Keys: func(context.Context) (objects.Keys, error) {
			return objects.Keys{AccessKey: at.AccessKey, SecretKey: at.SecretKey}, nil
		}})
		return aBucket{b}, err
	}
	return masterWith(t, "{type: s3, bucket: detent, prefix: team, endpoint_url: '"+at.URL+"'}", open, throughMaster), open
}

// masterWith starts a master with a checkpoint storage.
func masterWith(t *testing.T, storage string, open opens, throughMaster bool) *servertest.Master {
	return servertest.StartWith(t, nil, func(c *api.Config) {
		raw, _, err := expconf.Parse("cluster", []byte("checkpoint_storage: "+storage))
		if err != nil {
			t.Fatal(err)
		}
		c.CheckpointStorage, c.Bucket, c.FilesThroughMaster = raw.CheckpointStorage, open, throughMaster
	})
}

// opens opens the bucket of a storage, as package server does.
type opens func(context.Context, expconf.CheckpointStorage) (checkpoints.Bucket, error)

// inGoogles and inAzures are inS3 for the other stores, with credentials that sign addresses.
func inGoogles(t *testing.T) (*servertest.Master, opens) {
	at, account := objecttest.StartGCS(t, "detent"), objecttest.GoogleAccount(t)
	open := func(_ context.Context, s expconf.CheckpointStorage) (checkpoints.Bucket, error) {
		return aBucket{objects.OpenGCS(objects.GCS{Bucket: s.Bucket, Endpoint: at, Credentials: func(context.Context) ([]byte, error) { return account, nil }})}, nil
	}
	return masterWith(t, "{type: gcs, bucket: detent, prefix: team}", open, false), open
}

func inAzures(t *testing.T) (*servertest.Master, opens) {
	at := objecttest.StartAzure(t)
	at.MakeContainer(t, "detent")
	account, err := objects.AzureByString(at.ConnectionString())
	if err != nil {
		t.Fatal(err)
	}
	open := func(context.Context, expconf.CheckpointStorage) (checkpoints.Bucket, error) {
		b, err := objects.OpenAzure(objects.Azure{Container: "detent", AzureAccount: account})
		return aBucket{b}, err
	}
	return masterWith(t, "{type: azure, container: detent, connection_string: '"+at.ConnectionString()+"'}", open, false), open
}

// TestFilesInParts: a file that MLflow's client sends in parts goes to the store itself, or through the master where operators say so or where the
// storage is a folder.
func TestFilesInParts(t *testing.T) {
	t.Run("folder", func(t *testing.T) {
		m := servertest.Start(t, nil)
		against(t, ours(m), m.Client("determined").Token(), "parts.py", "through")
		if n, err := database.Scalar[int](t.Context(), m.DB, `SELECT count(*) FROM logged_uploads WHERE NOT finished`); err != nil || n != 0 {
			t.Errorf("%d uploads are not finished: %v", n, err)
		}
	})
	for name, start := range map[string]func(*testing.T) (*servertest.Master, opens){
		"S3 signed":    func(t *testing.T) (*servertest.Master, opens) { return inS3(t, objecttest.StartS3(t), false) },
		"S3 through":   func(t *testing.T) (*servertest.Master, opens) { return inS3(t, objecttest.StartS3(t), true) },
		"GCS signed":   inGoogles,
		"Azure signed": inAzures,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "S3 through" || name == "GCS signed" { // package objects tests as much of them
				rig.Long(t)
			}
			m, open := start(t)
			_, kind, _ := strings.Cut(name, " ")
			against(t, ours(m), m.Client("determined").Token(), "parts.py", kind)
			b, err := open(t.Context(), expconf.CheckpointStorage{Bucket: "detent"})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if list, err := b.(aBucket).List(t.Context(), ""); err != nil || len(list) != 1 || !strings.HasSuffix(list[0].Key, "/models/a/large weights.bin") {
				t.Errorf("%v %v", list, err)
			}
		})
	}
}

// TestFilesInS3: the same calls of MLflow's client with a checkpoint storage in S3.
func TestFilesInS3(t *testing.T) {
	at := objecttest.StartS3(t)
	m, open := inS3(t, at, false)
	against(t, ours(m), m.Client("determined").Token(), "files.py", "S3")
	b, err := open(t.Context(), expconf.CheckpointStorage{Bucket: "detent"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	list, err := b.(aBucket).List(t.Context(), "")
	if err != nil || len(list) < 10 {
		t.Fatalf("%d objects, %v", len(list), err)
	}
	for _, o := range list {
		if !strings.HasPrefix(o.Key, "team/1/") {
			t.Errorf("%s is not below the prefix of its experiment", o.Key)
		}
	}
	// What is removed from a run is removed from the bucket.
	for _, o := range list {
		if strings.Contains(o.Key, "/many/") {
			t.Errorf("%s was not removed", o.Key)
		}
	}
	abandoned(t, m, at, open)
}

// abandoned: the parts of a file that was not complete leave the bucket after the deletion of their experiment, of which nothing is stored any more.
func abandoned(t *testing.T, m *servertest.Master, at objecttest.S3, open opens) {
	me := caller{t, m, m.Client("determined").Token()}
	run := me.run()
	me.want(200, "POST", "/mlflow/api/2.0/mlflow-artifacts/mpu/create/0/"+run+"/artifacts", `{"path":"a.bin","num_parts":2}`)
	uploads := func() int {
		list, err := clientOf(at).ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: aws.String("detent")})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Uploads)
	}
	if n := uploads(); n != 1 {
		t.Fatalf("the bucket has %d uploads that are not complete, want 1", n)
	}
	exp, err := database.Scalar[int](t.Context(), m.DB, `UPDATE experiments SET state = 'DELETING', desired = 'deleted'
		WHERE id = (SELECT experiment_id FROM trials WHERE id = $1::text::int) RETURNING id`, run)
	for done := false; err == nil && !done; {
		err = m.DB.Tx(t.Context(), func(tx *database.DB) (err error) {
			done, err = experiments.DeleteRows(t.Context(), tx, exp)
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := (checkpoints.Deps{DB: m.DB, Bucket: open}).DropUploads(t.Context()); n != 1 || err != nil {
		t.Errorf("%d are removed, %v", n, err)
	}
	if n := uploads(); n != 0 {
		t.Errorf("the bucket has %d uploads that are not complete", n)
	}
}
