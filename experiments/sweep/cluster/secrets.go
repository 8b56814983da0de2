package cluster

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/pausenet/pausenet/internal/files"
)

// Secrets holds a coordinator's secrets, created for one sweep and kept in a file that only the user can read, so that
// workers recognise a restarted coordinator.
type Secrets struct {
	Port        int    `json:"port"`
	Coordinator string `json:"coordinator_seed"`
	Worker      string `json:"worker_seed"`
	Certificate []byte `json:"certificate"` // DER
	Key         []byte `json:"key"`         // PKCS 8
}

const (
	secretsFile = "secrets.json"
	// JoinFile names the file with the join string.
	JoinFile = "join"
)

// certificateLife exceeds the duration of any sweep.
const certificateLife = 5 * 365 * 24 * time.Hour

// PrivateFolder creates and returns the folder below a sweep's that only the user can read.
func PrivateFolder(directory string) (string, error) {
	path := filepath.Join(directory, ".cluster")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if err := files.CheckPrivate(path); !info.IsDir() || err != nil {
		return "", fmt.Errorf("other users can access %s (%v): remove it, or choose another folder with --out", path,
			cmp.Or(err, fmt.Errorf("%v", info.Mode())))
	}
	return path, nil
}

// LoadSecrets reads a coordinator's secrets, or creates them.
func LoadSecrets(private string) (*Secrets, error) {
	path := filepath.Join(private, secretsFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newSecrets()
	}
	s := new(Secrets)
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: remove it, and give the workers the new join string", path, err)
	}
	return s, nil
}

func newSecrets() (*Secrets, error) {
	s := new(Secrets)
	for _, seed := range []*string{&s.Coordinator, &s.Worker} {
		user, err := nkeys.CreateUser()
		if err != nil {
			return nil, err
		}
		text, err := user.Seed()
		if err != nil {
			return nil, err
		}
		*seed = string(text)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	number, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: "pausenet sweep"}, DNSNames: []string{"pausenet"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if s.Certificate, err = x509.CreateCertificate(rand.Reader, template, template, key.Public(), key); err != nil {
		return nil, err
	}
	s.Key, err = x509.MarshalPKCS8PrivateKey(key)
	return s, err
}

// Save writes the secrets to a file that only the user can read.
func (s *Secrets) Save(private string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return writePrivate(private, secretsFile, data)
}

// Access returns what workers need to connect to the coordinator at the addresses, and writes it as a join string that
// only the user can read.
func (s *Secrets) Access(private, id string, addresses []string) (*Access, error) {
	key, err := s.Identity()
	if err != nil {
		return nil, err
	}
	a := &Access{Addresses: addresses, Pin: s.Pin(), Seed: s.Worker, ID: id, Coordinator: key.public}
	return a, writePrivate(private, JoinFile, []byte(a.Join()+"\n"))
}

// writePrivate writes a file that only the user can read, completely or not at all.
func writePrivate(folder, name string, data []byte) error {
	f, err := os.CreateTemp(folder, "."+name) // only the user can read it
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(folder, name))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the earlier file remains
	}
	return err
}

// TLS returns the server's certificate with its key.
func (s *Secrets) TLS() (tls.Certificate, error) {
	key, err := x509.ParsePKCS8PrivateKey(s.Key)
	return tls.Certificate{Certificate: [][]byte{s.Certificate}, PrivateKey: key}, err
}

// Pin returns the SHA-256 of the server's certificate.
func (s *Secrets) Pin() string { return pinOf(s.Certificate) }

func pinOf(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}

// Identity returns the coordinator's key pair.
func (s *Secrets) Identity() (*Identity, error) { return identityFrom(s.Coordinator) }
