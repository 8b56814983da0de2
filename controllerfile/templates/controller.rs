// NAME: a congestion control in Rust. docs/controllers-from-files.md describes the interface.
//
// All numbers are f64: rates in bits per second, times in picoseconds, sizes in bytes. pn() has the inputs of a call
// and the outputs. Keep all state in flow(): no other variable may change.
#![no_std]
#![no_main]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

// A flow's state.
#[repr(C)]
struct Flow {
    marked: f64,   // was any packet of this RTT marked?
    rtt_ends: f64, // an ACK beyond this sequence number ends the RTT
}

// Needs: what switches and receivers must do. Parameters: --set cc.NAME.wasm.gain=0.2
static DECLARATION: &str = "
summary = 'NAME: cuts the rate after marks, raises it after an RTT without'
needs = ['ECN', 'ACK']
params = {
    'gain': number(0.3, min=0, max=1, doc='share of the rate to cut after an RTT with marks'),
    'step': rate('line/100', min='1bps', max='line', doc='added to the rate after an RTT without marks'),
    'min_rate': rate('line/400', min='1bps', max='line', doc='minimum rate'),
}
\0";
const GAIN: usize = 0; // the parameters, in that order
const STEP: usize = 1;
const MIN_RATE: usize = 2;

// Called when a flow starts.
#[no_mangle]
pub extern "C" fn init() {
    pn().rate = pn().line_rate;
}

// Called on each ACK. Other functions: on_cnp, on_cnm, on_nak, on_timeout, on_timer (at pn().timer), on_sent.
#[no_mangle]
pub extern "C" fn on_ack() {
    let (pn, flow) = (pn(), flow());
    if pn.ce != 0.0 {
        flow.marked = 1.0;
    }
    if pn.ack_sequence <= flow.rtt_ends {
        return;
    }
    // Once per RTT. pn.rtt is the RTT of this packet.
    if flow.marked != 0.0 {
        pn.rate = pn.params[MIN_RATE].max(pn.rate * (1.0 - pn.params[GAIN]));
    } else {
        pn.rate = pn.line_rate.min(pn.rate + pn.params[STEP]);
    }
    flow.marked = 0.0;
    flow.rtt_ends = pn.next_send;
}

// The interface, version 3: do not change the rest.

#[repr(C)]
struct Hop {
    rate: f64, departed: f64, tx_bytes: f64, queue_bytes: f64,
}

#[repr(C)]
struct Since {
    elapsed: f64, tx_delta: f64, queue_gradient: f64,
}

#[repr(C)]
#[allow(dead_code)]
struct Pausenet {
    // Constants of the flow's path, and the parameters in the order of their declaration.
    line_rate: f64, base_rtt: f64, mtu: f64, line_mtu: f64,
    params: [f64; 32],
    // Outputs, which keep their values until changed. timer: f64::INFINITY for none.
    rate: f64, window: f64, timer: f64, moves: f64,
    // Inputs of a call; docs/controllers-from-files.md says of which.
    now: f64, rtt: f64, acked_bytes: f64, ack_sequence: f64, next_send: f64, ce: f64, ue: f64, path_id: f64,
    received: f64, receiving_rate: f64, flows: f64, cnm_rate: f64, payload: f64, start_rate: f64,
    hop_count: f64, hops: [Hop; 5], in_flight: f64, since: [Since; 5],
}

#[repr(align(8))]
struct Memory<const N: usize>([u8; N]);
static mut PN: Memory<{ core::mem::size_of::<Pausenet>() }> = Memory([0; core::mem::size_of::<Pausenet>()]);
static mut FLOW: Memory<{ core::mem::size_of::<Flow>() }> = Memory([0; core::mem::size_of::<Flow>()]);

fn pn() -> &'static mut Pausenet {
    unsafe { &mut *(core::ptr::addr_of_mut!(PN) as *mut Pausenet) }
}

fn flow() -> &'static mut Flow {
    unsafe { &mut *(core::ptr::addr_of_mut!(FLOW) as *mut Flow) }
}

#[no_mangle]
pub extern "C" fn pausenet_abi() -> i32 { 3 }

#[no_mangle]
pub extern "C" fn pausenet_declare() -> *const u8 { DECLARATION.as_ptr() }

#[no_mangle]
pub extern "C" fn pausenet_block() -> *mut u8 { unsafe { core::ptr::addr_of_mut!(PN) as *mut u8 } }

#[no_mangle]
pub extern "C" fn pausenet_flow() -> *mut u8 { unsafe { core::ptr::addr_of_mut!(FLOW) as *mut u8 } }

#[no_mangle]
pub extern "C" fn pausenet_flow_size() -> i32 { core::mem::size_of::<Flow>() as i32 }
