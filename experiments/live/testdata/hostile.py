"""Two programs without the library that speak its protocol (verbs/c/protocol.h): a victim, and with its address as an argument an attacker.

The victim offers the middle third of its memory to be written. The attacker posts work requests with random addresses, keys and elements
to it, and sends its own server requests of random words.
"""
import array, ctypes, os, pathlib, random, re, socket, struct, sys, time

PORT, ROUNDS, SIZE = 4791, 60, 4096
(DEVICES, OPEN, DESTROY, PD, MR, REREG, TIME, CHANNEL, CQ, NOTIFY, CREATE_SRQ, MODIFY_SRQ, QP, MODIFY, QUERY, SEND, RECV) = range(1, 18)
LAST = 28
VERSION = int(re.search(r"PROTOCOL_VERSION = (\d+)", (pathlib.Path(__file__).resolve().parents[3] / "verbs/c/protocol.h").read_text())[1])
LOCAL_WRITE, REMOTE_WRITE = 1, 2


class Server:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(b"\0pausenet-verbs")

    def raw(self, data, files=()):
        self.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else [])
        data, control, _, _ = self.socket.recvmsg(8192, 256)
        for level, kind, got in control:
            numbers = array.array("i")
            numbers.frombytes(got[: len(got) - len(got) % 4])
            for fd in numbers:
                os.close(fd)
        return struct.unpack(f"={len(data) // 8}Q", data)

    def ask(self, *words, files=()):
        return self.raw(struct.pack(f"={len(words)}Q", *words), files)

    def open(self):
        memory = os.open("/proc/self/mem", os.O_RDWR)
        reply = self.ask(OPEN, VERSION, 0, files=[memory])
        os.close(memory)
        assert reply[0] == 0, reply
        self.pd = self.ask(PD)[1]
        self.cq = self.ask(CQ, 4096, 0, 1)[1]

    def pair(self):
        reply = self.ask(QP, self.pd, self.cq, self.cq, 0, 16, 16, 1, 0, 0)
        assert reply[0] == 0, reply
        return reply[1:3]

    def connect(self, qp, address, number):
        for state, mask in (1, 1 | 8), (2, 1), (3, 1):
            reply = self.ask(MODIFY, qp, state, mask, 7, address, number, 0, 1024, 4, 12, 0, 4, 8, 1, 1, 0, 0)
            assert reply[0] == 0, (state, reply)


def number_of(address):
    return struct.unpack("!I", socket.inet_aton(address))[0]


def line(stream, *words):
    stream.write(" ".join(str(w) for w in words) + "\n")
    stream.flush()


def numbers(stream):
    return [int(w) for w in stream.readline().split()]


server = Server()
server.open()
FILL = b"\xa5" if len(sys.argv) == 1 else b"\x5a"
memory = ctypes.create_string_buffer(FILL * (3 * SIZE), 3 * SIZE)
start = ctypes.addressof(memory)
status, handle, key = server.ask(MR, server.pd, start + SIZE, SIZE, start + SIZE, LOCAL_WRITE | REMOTE_WRITE)
assert status == 0

if len(sys.argv) == 1:
    listener = socket.create_server(("", PORT))
    conn, peer = listener.accept()
    stream = conn.makefile("rw")
    line(stream, start + SIZE, key)
    for _ in range(ROUNDS):
        qp, own = server.pair()
        (other,) = numbers(stream)
        server.connect(qp, number_of(peer[0]), other)
        line(stream, own)
        numbers(stream)
        server.ask(DESTROY, qp)
        assert memory.raw[:SIZE] == FILL * SIZE and memory.raw[2 * SIZE :] == FILL * SIZE, "memory was written that was not offered"
        line(stream, 0)
    assert memory.raw[SIZE : 2 * SIZE] != FILL * SIZE, "no write came"
    print("unharmed")
    sys.exit()

random.seed(19)
conn = socket.create_connection((sys.argv[1], PORT))
stream = conn.makefile("rw")
victim, victim_key = numbers(stream)


def near(value):
    return random.choice([value, value + random.randrange(-2 * SIZE, 2 * SIZE), random.getrandbits(64)]) & (1 << 64) - 1


for turn in range(ROUNDS):
    qp, own = server.pair()
    line(stream, own)
    (other,) = numbers(stream)
    server.connect(qp, number_of(sys.argv[1]), other)
    work = [[turn, 2 | 1 << 32, victim + 8 * turn, victim_key, 0, 0, 1, start + SIZE, 64 | key << 32]]  # one that is right
    for _ in range(3):
        op, local, length = random.randrange(8), near(start + SIZE), random.choice([0, 8, SIZE, 1 << 20, 1 << 31, random.getrandbits(32)])
        remote_key = random.choice([victim_key, victim_key + 1, random.getrandbits(32)]) & 0xFFFFFFFF
        local_key = random.choice([key, key, random.getrandbits(32)])
        work.append([turn, op | random.getrandbits(3) << 32, near(victim), remote_key, random.getrandbits(64), 0, 1, local, length | local_key << 32])
    for w in work:
        server.ask(SEND, qp, 1, *w)
    time.sleep(0.05)
    server.ask(DESTROY, qp)
    line(stream, 0)
    numbers(stream)
for _ in range(3000):
    words = [random.randrange(LAST + 3)] + [random.choice([0, 1, 2, 3, 4, 16, random.getrandbits(12), random.getrandbits(64)]) for _ in range(random.randrange(24))]
    if words[0] != OPEN:
        server.ask(*words)
server.raw(b"odd")
assert server.ask(DEVICES, VERSION)[0] == 0
print("unharmed")
