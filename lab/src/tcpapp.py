#!/usr/bin/env python3
"""tcpapp.py server|client '<json>' : small TCP applications with known behaviour. Logs CSV + final TCP_INFO."""
import socket, struct, sys, json, time, os, threading, ctypes
ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)   # PR_SET_TIMERSLACK 1ns
QUICKACK = 12
def now(): return time.time_ns()
TI = {'state':('B',0),'rto':('I',8),'snd_mss':('I',16),'pmtu':('I',60),'rtt':('I',68),'rttvar':('I',72),'ssthresh':('I',76),'cwnd':('I',80),
      'total_retrans':('I',100),'bytes_acked':('Q',120),'bytes_received':('Q',128),'segs_out':('I',136),'segs_in':('I',140),'min_rtt':('I',148),
      'delivery_rate':('Q',160),'busy_time':('Q',168),'rwnd_limited':('Q',176),'sndbuf_limited':('Q',184),'bytes_sent':('Q',200),'bytes_retrans':('Q',208),'snd_wnd':('I',228)}
def tinfo(s):
    try: b = s.getsockopt(6, 11, 256)
    except OSError: return {}
    return {k: struct.unpack_from('<'+f, b, o)[0] for k,(f,o) in TI.items() if o+struct.calcsize(f) <= len(b)}
def recvn(s, n, c=None, qa=None):
    got = 0
    while got < n:
        if qa is not None: s.setsockopt(6, QUICKACK, qa)
        b = s.recv(min(n-got, 1<<20))
        if not b: raise EOFError
        got += len(b)
    return got
def opts(s, c, side):
    if c.get('nodelay_'+side): s.setsockopt(6, socket.TCP_NODELAY, 1)
    if c.get('rcvbuf_'+side): s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, c['rcvbuf_'+side])
    if c.get('sndbuf_'+side): s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, c['sndbuf_'+side])
def save(c, side, rows, hdr, extra):
    with open(f"{c['dir']}/{side}_ops.csv",'w') as f:
        f.write(','.join(hdr)+'\n'); f.writelines(','.join(map(str,r))+'\n' for r in rows)
    json.dump(extra, open(f"{c['dir']}/{side}_app.json",'w'))

def server(c):
    l = socket.socket(); l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); opts(l, c, 's')
    l.bind((c.get('server','10.0.0.2'), c.get('port',9000))); l.listen(c.get('backlog',16)); l.settimeout(40); print('READY', flush=True)
    rows, ex, lock, th = [], {}, threading.Lock(), []
    if c.get('accept_sleep'): time.sleep(c['accept_sleep'])
    def one(s, k):
        s.settimeout(30); s.setsockopt(6, socket.TCP_NODELAY, 1 if c.get('nodelay_s') else 0)
        try:
            if c['mode'] == 'rr':
                resp = [b'r'*x for x in c['resp']]; n = sum(c['req'])
                for i in range(c['n']):
                    recvn(s, n, c, c.get('quickack_s')); t0 = now()
                    if c.get('svc_us'): time.sleep(c['svc_us']/1e6)
                    if c.get('rst_at') == i:
                        with lock: ex['rst_at_ns'] = now()
                        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii',1,0)); s.close(); return
                    for r in resp: s.sendall(r)
                    with lock: rows.append((k,i,t0,now(),n,sum(c['resp'])))
            else:
                got = 0
                while got < c['bytes']:
                    b = s.recv(c.get('read',65536))
                    if not b: break
                    got += len(b)
                    with lock: rows.append((k,len(rows),now(),now(),len(b),got))
                    if c.get('rst_bytes') and got >= c['rst_bytes']:
                        ex['rst_at_ns'] = now(); s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii',1,0)); s.close(); return
                    if c.get('read_sleep_us'): time.sleep(c['read_sleep_us']/1e6)
                s.sendall(b'k')
            try: s.recv(1)
            except OSError: pass
        except (EOFError, OSError) as e:
            with lock: ex.setdefault('errors',[]).append(repr(e))
        with lock: ex[f'tcp_info_{k}'] = tinfo(s)
        s.close()
    try:
        for k in range(c.get('conns',1)):
            s,_ = l.accept(); ex.setdefault('accept_ns',[]).append(now()); t = threading.Thread(target=one, args=(s,k)); t.start(); th.append(t)
    except OSError as e: ex['accept_error'] = repr(e)
    for t in th: t.join(40)
    save(c,'server',rows,['conn','i','t_got_ns','t_replied_ns','got','sent'],ex)

def client(c):
    rows, ex = [], {}; hold = []
    if c.get('fill'):      # occupy the server's accept queue first
        for _ in range(c['fill']):
            h = socket.socket(); h.settimeout(3); h.connect((c.get('server','10.0.0.2'), c.get('port',9000))); hold.append(h); time.sleep(0.02)
        ex['fill_done_ns'] = now(); time.sleep(0.3)
    s = socket.socket(); opts(s, c, 'c'); s.settimeout(c.get('sock_timeout',30))
    t0 = now(); ex['connect_start_ns'] = t0
    try: s.connect((c.get('server','10.0.0.2'), c.get('port',9000)))
    except OSError as e: ex['connect_error'] = repr(e)
    ex['connect_ms'] = (now()-t0)/1e6; s.setsockopt(6, socket.TCP_NODELAY, 1 if c.get('nodelay_c') else 0)
    samples = []; stop = threading.Event()
    def sampler():
        while not stop.wait(0.1):
            d = tinfo(s)
            if d: samples.append((now(), d['cwnd'], d['rtt'], d['snd_wnd'], d['busy_time'], d['rwnd_limited'], d['sndbuf_limited'], d['total_retrans']))
    threading.Thread(target=sampler, daemon=True).start()
    t_begin = now()
    try:
        if c['mode'] == 'rr':
            req = [b'q'*x for x in c['req']]; n = sum(c['resp'])
            for i in range(c['n']):
                a = now()
                for r in req: s.sendall(r)
                b = now(); recvn(s, n); rows.append((0,i,a,b,now(),sum(c['req']),n))
                if c.get('think_us'): time.sleep(c['think_us']/1e6)
        else:
            buf = b'b'*c['write']; left = c['bytes']; i = 0
            while left > 0:
                w = min(left, c['write']); a = now(); s.sendall(buf[:w]); b = now(); rows.append((0,i,a,b,b,w,0)); i += 1; left -= w
                if c.get('think_us'): time.sleep(c['think_us']/1e6)
            recvn(s, 1); ex['acked_ns'] = now()
    except (OSError, EOFError) as e: ex['error'] = repr(e); ex['error_ns'] = now()
    ex['elapsed_s'] = (now()-t_begin)/1e9; stop.set(); ex['tcp_info'] = tinfo(s)
    ex['tcp_info_samples'] = {'cols':['t_ns','cwnd','rtt_us','snd_wnd','busy_us','rwnd_limited_us','sndbuf_limited_us','retrans'],'rows':samples}
    s.close(); [h.close() for h in hold]
    save(c,'client',rows,['conn','i','t_start_ns','t_sent_ns','t_done_ns','sent','got'],ex)
(server if sys.argv[1]=='server' else client)(json.loads(sys.argv[2]))
