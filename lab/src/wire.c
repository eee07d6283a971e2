// wire: user-space wire emulator that joins two TAP interfaces, each in a network namespace of its own.
//   wire <netns-a>:<device> <netns-b>:<device> <control.sock> <log.csv>      (a = client side, b = server side)
// direction 0 = a->b (c2s), 1 = b->a (s2c).
// Acts like a NIC+cable: TSO super-segments coming out of a TAP are cut into MSS frames (checksums
// filled in) BEFORE loss/rate/delay is applied, so loss hits single wire frames as on a real link.
// Receive-side GRO is the kernel's own (TAP opened IFF_NAPI; set gro_flush_timeout on the netdev).
// control: unix datagram socket, text lines:
//   c2s|s2c|both key=value ...   keys: delay_us jitter_us loss ge_p ge_r ge_h rate_mbit queue_kb
//                                      reorder reorder_us dup mtu dropsyn dropsynack droprst limit
//                                      corrupt (share of frames with data of which a bit is flipped: their receiver's TCP
//                                      throws them away) flows (loses and flips only of connections whose client's port is a
//                                      multiple of it, as a bad member of a bundle does)
//                                      ackevery acktimer_us (a card that acknowledges by count: pure ACKs of this
//                                      direction wait until so many data frames came the other way, or the time is up)
//   outage c2s|s2c|both <ms>     drop everything in that direction for <ms> from now
//   keep c2s|s2c|both <ms>       let nothing out in that direction for <ms> from now: it all comes then, in order
//   dropnext c2s|s2c <n>         drop next n TCP data frames
//   rstat c2s|s2c <n>            forge a RST toward both ends when the nth data frame from now passes
//   seed <n> | quit
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <net/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <arpa/inet.h>

typedef uint64_t u64; typedef uint32_t u32; typedef uint16_t u16; typedef uint8_t u8;
#define VH 10
#define MAXREC (1u<<20)

typedef struct { u64 tin, tout; u32 seq, ack; u16 len, ipid, sport, dport, pay; u8 dir, verdict, flags, proto; } rec_t;
enum { FWD=0, D_LOSS=1, D_BURST=2, D_QUEUE=3, D_OUTAGE=4, D_SYN=5, D_MTU=6, D_NEXT=7, DUPC=8, REORD=9, INJ=10, D_WERR=11, D_LIMIT=12, HELD=13, D_CORRUPT=14 };
static const char *vname[] = {"fwd","drop_loss","drop_burst","drop_queue","drop_outage","drop_syn","drop_mtu","drop_next","dup","reorder","inject","write_err","drop_limit","held_ack","drop_corrupt"};
static rec_t *recs; static u32 nrec;

typedef struct { u64 due, ord; u32 rec; u16 len; u8 *d; } pk_t;
typedef struct {
  double delay, jitter, loss, ge_p, ge_r, ge_h, rate, queue, reorder, reorder_us, dup, corrupt, flows; int mtu, dropsyn, dropsynack, droprst, limit;
  int ge_bad; u64 last_finish, last_due, outage_until, keep_until; int dropnext, rstat;
  pk_t *h; int n, cap; u64 ord;
  double ackevery, acktimer; int segs, acklen; u64 ackby; u8 ack[200];
} dir_t;
static dir_t D[2]; static int tap[2]; static volatile int stop;
static u64 rs[2] = {0x9E3779B97F4A7C15ull, 0xD1B54A32D192ED03ull};
static double rnd(void){ u64 a=rs[0],b=rs[1]; rs[0]=b; a^=a<<23; rs[1]=a^b^(a>>17)^(b>>26); return ((rs[1]+b)>>11)*(1.0/9007199254740992.0); }
static u64 now(void){ struct timespec t; clock_gettime(CLOCK_REALTIME,&t); return (u64)t.tv_sec*1000000000ull+t.tv_nsec; }
static void die(const char*s){ perror(s); exit(1); }

static int opentap(const char*at){
  char ns[128]; snprintf(ns,sizeof ns,"%s",at); char*dev=strchr(ns,':'); if(!dev){fprintf(stderr,"wire: %s is not NAMESPACE:DEVICE\n",at);exit(2);} *dev++=0;
  char p[256]; snprintf(p,sizeof p,"/run/netns/%s",ns);
  int self=open("/proc/self/ns/net",O_RDONLY), n=open(p,O_RDONLY); if(n<0)die(p);
  if(setns(n,CLONE_NEWNET))die("setns");
  int fd=open("/dev/net/tun",O_RDWR|O_NONBLOCK); if(fd<0)die("tun");
  struct ifreq r; memset(&r,0,sizeof r); strncpy(r.ifr_name,dev,IFNAMSIZ-1);
  r.ifr_flags=IFF_TAP|IFF_NO_PI|IFF_VNET_HDR|IFF_NAPI;
  if(ioctl(fd,TUNSETIFF,&r))die("TUNSETIFF");
  int sz=VH; if(ioctl(fd,TUNSETVNETHDRSZ,&sz))die("VNETHDRSZ");
  if(ioctl(fd,TUNSETOFFLOAD,TUN_F_CSUM|TUN_F_TSO4|TUN_F_TSO_ECN))die("OFFLOAD");
  int sb=INT32_MAX; ioctl(fd,TUNSETSNDBUF,&sb);
  if(setns(self,CLONE_NEWNET))die("setns back");
  close(self);close(n); return fd;
}
static u32 sum16(const u8*p,int n,u32 s){ while(n>1){s+=(p[0]<<8)|p[1];p+=2;n-=2;} if(n)s+=p[0]<<8; return s; }
static u16 fold(u32 s){ while(s>>16)s=(s&0xffff)+(s>>16); return ~s; }
static void put16(u8*p,u16 v){p[0]=v>>8;p[1]=v;} static void put32(u8*p,u32 v){p[0]=v>>24;p[1]=v>>16;p[2]=v>>8;p[3]=v;}
static u32 get32(const u8*p){return (u32)p[0]<<24|p[1]<<16|p[2]<<8|p[3];} static u16 get16(const u8*p){return p[0]<<8|p[1];}
static void tcp_csum(u8*f,int len){ u8*ip=f+14; int hl=(ip[0]&15)*4; u8*t=ip+hl; int tl=len-14-hl;
  put16(ip+10,0); put16(ip+10,fold(sum16(ip,hl,0)));
  put16(t+16,0); u32 s=sum16(ip+12,8,0)+6+tl; put16(t+16,fold(sum16(t,tl,s))); }

static int lt(pk_t*a,pk_t*b){ return a->due<b->due || (a->due==b->due && a->ord<b->ord); }
static void hpush(dir_t*d,pk_t p){ if(d->n==d->cap){d->cap=d->cap?d->cap*2:4096;d->h=realloc(d->h,d->cap*sizeof(pk_t));}
  int i=d->n++; while(i){int q=(i-1)/2; if(!lt(&p,&d->h[q]))break; d->h[i]=d->h[q]; i=q;} d->h[i]=p; }
static pk_t hpop(dir_t*d){ pk_t r=d->h[0], l=d->h[--d->n]; int i=0; for(;;){int c=2*i+1; if(c>=d->n)break; if(c+1<d->n&&lt(&d->h[c+1],&d->h[c]))c++; if(!lt(&d->h[c],&l))break; d->h[i]=d->h[c]; i=c;} if(d->n)d->h[i]=l; return r; }

static void sendout(int dir,const u8*f,int len,u32 ri,int verdict){
  static u8 b[70000]; memset(b,0,VH); b[0]=verdict==D_CORRUPT?0:VIRTIO_NET_HDR_F_DATA_VALID; memcpy(b+VH,f,len);
  u64 t=now();                       // stamped before write(): write() runs the peer's receive path
  int r=write(tap[!dir],b,len+VH);
  if(ri<MAXREC){ recs[ri].tout=t; recs[ri].verdict=r<0?D_WERR:verdict;
    if(recs[ri].proto==6 && recs[ri].pay){ dir_t*o=&D[!dir]; if(!o->segs++) o->ackby=t+(u64)(o->acktimer*1000); } }
}
// Whether this pure ACK is kept back; the newest one stands for those before it.
static int hold_ack(dir_t*d,const u8*f,int len,rec_t*r,u64 t){
  int pure=r->proto==6 && !r->pay && r->flags==0x10 && len<=(int)sizeof d->ack;
  if(d->ackevery<=0 || (pure && !d->segs)) return 0;
  if(pure && d->segs<d->ackevery && t<d->ackby){ memcpy(d->ack,f,len); d->acklen=len; r->verdict=HELD; return 1; }
  d->segs=d->acklen=0; return 0;
}
static u32 newrec(int dir,const u8*f,int len,u64 t){
  if(nrec>=MAXREC) return MAXREC;
  rec_t*r=&recs[nrec]; memset(r,0,sizeof *r); r->dir=dir; r->len=len; r->tin=t;
  if(get16(f+12)==0x0800){ const u8*ip=f+14; int hl=(ip[0]&15)*4; r->proto=ip[9]; r->ipid=get16(ip+4);
    if(ip[9]==6){ const u8*p=ip+hl; r->sport=get16(p);r->dport=get16(p+2);r->seq=get32(p+4);r->ack=get32(p+8);r->flags=p[13]; r->pay=get16(ip+2)-hl-(p[12]>>4)*4; }
    else if(ip[9]==17){ r->sport=get16(ip+hl); r->dport=get16(ip+hl+2); r->pay=get16(ip+hl+4)-8; } }
  return nrec++;
}
static void inject_rst(int dir,const u8*f,u64 t){
  // forge RST to the receiver (seq = this segment's seq) and to the sender (seq = its ack field)
  for(int k=0;k<2;k++){ u8 b[54]; memcpy(b,f,34); const u8*ip=f+14; int hl=(ip[0]&15)*4; const u8*p=ip+hl; u8*q=b+34;
    b[14]=0x45; put16(b+16,40); put16(b+18,0xBEEF); put16(b+20,0x4000); b[22]=255; memset(q,0,20);
    if(k==0){ memcpy(q,p,8); put32(q+8,0); }
    else { u8 m[6]; memcpy(m,b,6);memcpy(b,b+6,6);memcpy(b+6,m,6); memcpy(b+26,ip+16,4);memcpy(b+30,ip+12,4);
      memcpy(q,p+2,2);memcpy(q+2,p,2); memcpy(q+4,p+8,4); }
    q[12]=0x50;q[13]=4; tcp_csum(b,54); int dd=k?!dir:dir; u32 ri=newrec(dd,b,54,t); sendout(dd,b,54,ri,INJ); }
}
static void wirepkt(int dir,const u8*f,int len,u64 t){
  dir_t*d=&D[dir]; u32 ri=newrec(dir,f,len,t); rec_t dummy; rec_t*r=ri<MAXREC?&recs[ri]:&dummy;
  int verdict=FWD;
  #define DROP(v) do{ r->verdict=v; return; }while(0)
  if(ri<MAXREC && hold_ack(d,f,len,r,t)) return;
  if(t<d->outage_until) DROP(D_OUTAGE);
  if(d->mtu && len-14>d->mtu) DROP(D_MTU);
  if(ri<MAXREC && r->proto==6){
    if((r->flags&0x12)==0x02 && d->dropsyn>0){ d->dropsyn--; DROP(D_SYN); }
    if((r->flags&0x12)==0x12 && d->dropsynack>0){ d->dropsynack--; DROP(D_SYN); }
    if((r->flags&0x04) && d->droprst>0){ d->droprst--; DROP(D_SYN); }
    if(r->pay && d->rstat>0 && --d->rstat==0) inject_rst(dir,f,t);
    if(r->pay && d->dropnext>0){ d->dropnext--; DROP(D_NEXT); }
  }
  if(get16(f+12)!=0x0806 && ri<MAXREC){           // never lose ARP at random: it would hide the intended cause
    int spared=d->flows>0 && r->proto==6 && (dir?r->dport:r->sport)%(int)d->flows;
    if(!spared && d->loss>0 && rnd()<d->loss) DROP(D_LOSS);
    if(!spared && d->corrupt>0 && r->pay && rnd()<d->corrupt){ static u8 bad[10000]; memcpy(bad,f,len); bad[len-1]^=0x40; f=bad; verdict=D_CORRUPT; }
    if(d->ge_p>0){ if(d->ge_bad){ if(rnd()<d->ge_r)d->ge_bad=0; } else if(rnd()<d->ge_p)d->ge_bad=1; if(d->ge_bad && rnd()<d->ge_h) DROP(D_BURST); }
  }
  u64 base=t;
  if(d->rate>0){ double bpns=d->rate/8e3; u64 st=d->last_finish>t?d->last_finish:t;
    double backlog=(st-t)*bpns; if(backlog+len>d->queue*1024) DROP(D_QUEUE);
    base=st+(u64)((len+24)/bpns); d->last_finish=base; }   // +24: preamble, FCS, IFG
  if(d->n>=d->limit) DROP(D_LIMIT);
  u64 due=base+(u64)(d->delay*1000);
  if(due<d->keep_until) due=d->keep_until;
  if(d->jitter>0) due+=(u64)(rnd()*d->jitter*1000);
  if(d->reorder>0 && rnd()<d->reorder){ due+=(u64)(d->reorder_us*1000); verdict=REORD; }
  else { if(due<d->last_due) due=d->last_due; d->last_due=due; }
  int copies=1; if(d->dup>0&&rnd()<d->dup) copies=2;
  for(int c=0;c<copies;c++){ u32 rr=ri; int v=verdict; if(c){ rr=newrec(dir,f,len,t); v=DUPC; }
    if(due<=t && d->n==0){ sendout(dir,f,len,rr,v); continue; }
    pk_t p; p.due=due; p.ord=d->ord++; p.rec=rr; p.len=len; p.d=malloc(len); memcpy(p.d,f,len);
    if(rr<MAXREC) recs[rr].verdict=v; hpush(d,p); }
}
static void ingress(int dir,u8*b,int n,u64 t){
  struct virtio_net_hdr*v=(void*)b; u8*f=b+VH; int len=n-VH;
  if(len<14) return;
  if(v->gso_type!=VIRTIO_NET_HDR_GSO_NONE && get16(f+12)==0x0800){
    u8*ip=f+14; int hl=(ip[0]&15)*4; u8*p=ip+hl; int thl=(p[12]>>4)*4, h=14+hl+thl, pay=len-h, mss=v->gso_size;
    u32 seq=get32(p+4); u16 id=get16(ip+4); u8 fl=p[13]; static u8 s[10000];
    for(int off=0,i=0;off<pay;off+=mss,i++){ int l=pay-off<mss?pay-off:mss; int last=off+l>=pay;
      memcpy(s,f,h); memcpy(s+h,f+h+off,l); u8*sip=s+14,*sp=s+14+hl;
      put16(sip+2,hl+thl+l); put16(sip+4,id+i); put32(sp+4,seq+off);
      u8 ff=fl; if(!last) ff&=~0x09; if(i) ff&=~0x80; sp[13]=ff; tcp_csum(s,h+l); wirepkt(dir,s,h+l,t); }
    return; }
  if(v->flags&VIRTIO_NET_HDR_F_NEEDS_CSUM){ int st=v->csum_start,o=st+v->csum_offset; if(o+2<=len){
    u16 c=fold(sum16(f+st,len-st,0)); if(!c&&v->csum_offset==6)c=0xffff; put16(f+o,c); } }
  wirepkt(dir,f,len,t);
}
static void setkv(dir_t*d,const char*k,double v){
  #define K(n) if(!strcmp(k,#n))
  K(delay_us)d->delay=v; else K(jitter_us)d->jitter=v; else K(loss)d->loss=v; else K(ge_p)d->ge_p=v; else K(ge_r)d->ge_r=v; else K(ge_h)d->ge_h=v;
  else K(rate_mbit)d->rate=v; else K(queue_kb)d->queue=v; else K(reorder)d->reorder=v; else K(reorder_us)d->reorder_us=v; else K(dup)d->dup=v; else K(corrupt)d->corrupt=v; else K(flows)d->flows=v;
  else K(mtu)d->mtu=v; else K(dropsyn)d->dropsyn=v; else K(dropsynack)d->dropsynack=v; else K(droprst)d->droprst=v; else K(limit)d->limit=v; else K(ackevery)d->ackevery=v; else K(acktimer_us)d->acktimer=v; else fprintf(stderr,"wire: unknown key %s\n",k);
}
static void control(char*s){
  char*sv,*w=strtok_r(s," \n",&sv); if(!w)return;
  if(!strcmp(w,"quit")){stop=1;return;}
  if(!strcmp(w,"seed")){ w=strtok_r(NULL," \n",&sv); u64 x=strtoull(w?w:"1",0,10); rs[0]=x*0x9E3779B97F4A7C15ull+1; rs[1]=~rs[0]*0xD1B54A32D192ED03ull; for(int i=0;i<20;i++)rnd(); return; }
  char*cmd=NULL; if(!strcmp(w,"outage")||!strcmp(w,"keep")||!strcmp(w,"dropnext")||!strcmp(w,"rstat")){cmd=w;w=strtok_r(NULL," \n",&sv);if(!w)return;}
  int a=!strcmp(w,"s2c"), b=!strcmp(w,"c2s")?0:1;
  if(cmd){ char*n=strtok_r(NULL," \n",&sv); double v=n?atof(n):0; for(int i=a;i<=b;i++){ if(*cmd=='o')D[i].outage_until=now()+(u64)(v*1e6); else if(*cmd=='k')D[i].keep_until=now()+(u64)(v*1e6); else if(*cmd=='d')D[i].dropnext=v; else D[i].rstat=v; } return; }
  char*kv; while((kv=strtok_r(NULL," \n",&sv))){ char*e=strchr(kv,'='); if(!e)continue; *e=0; for(int i=a;i<=b;i++) setkv(&D[i],kv,atof(e+1)); }
}
static void onsig(int s){(void)s;stop=1;}
int main(int ac,char**av){
  if(ac<5){fprintf(stderr,"usage: wire nsA:dev nsB:dev control.sock log.csv\n");return 2;}
  for(int i=0;i<2;i++){ D[i].limit=20000; D[i].queue=256; }
  recs=malloc(sizeof(rec_t)*(size_t)MAXREC);
  tap[0]=opentap(av[1]); tap[1]=opentap(av[2]);
  int cs=socket(AF_UNIX,SOCK_DGRAM|SOCK_NONBLOCK,0); struct sockaddr_un u; memset(&u,0,sizeof u); u.sun_family=AF_UNIX; strncpy(u.sun_path,av[3],sizeof u.sun_path-1); unlink(av[3]);
  if(bind(cs,(void*)&u,sizeof u))die("bind control");
  prctl(PR_SET_TIMERSLACK,1); struct sched_param sp={.sched_priority=10}; if(sched_setscheduler(0,SCHED_FIFO,&sp))perror("wire: SCHED_FIFO");
  signal(SIGTERM,onsig);signal(SIGINT,onsig);
  printf("READY\n");fflush(stdout);
  static u8 b[70000]; u64 hard=now()+600ull*1000000000ull;     // never runs longer than 10 minutes
  while(!stop){
    struct pollfd pf[3]={{tap[0],POLLIN,0},{tap[1],POLLIN,0},{cs,POLLIN,0}};
    u64 t=now(),nx=t+500000000ull; if(t>hard)break;
    for(int i=0;i<2;i++){ if(D[i].n && D[i].h[0].due<nx) nx=D[i].h[0].due; if(D[i].acklen && D[i].ackby<nx) nx=D[i].ackby; }
    u64 w=nx>t?nx-t:0; struct timespec ts={w/1000000000ull,w%1000000000ull};
    int r=ppoll(pf,3,&ts,NULL); if(r<0&&errno!=EINTR)die("ppoll");
    for(int i=0;i<2;i++) while(D[i].n && D[i].h[0].due<=now()){ pk_t p=hpop(&D[i]); sendout(i,p.d,p.len,p.rec,p.rec<MAXREC?recs[p.rec].verdict:0); free(p.d); }
    for(int i=0;i<2;i++) if(D[i].acklen && D[i].ackby<=(t=now())) wirepkt(i,D[i].ack,D[i].acklen,t);
    if(r>0) for(int i=0;i<2;i++) if(pf[i].revents) for(int k=0;k<32;k++){ int n=read(tap[i],b,sizeof b); if(n<=0)break; ingress(i,b,n,now()); }
    if(r>0&&pf[2].revents){ char m[1024]; int n; while((n=recv(cs,m,sizeof m-1,0))>0){ m[n]=0; control(m);} }
  }
  FILE*o=fopen(av[4],"w"); fprintf(o,"dir,verdict,t_in_ns,t_out_ns,frame_len,ip_id,sport,dport,seq,ack,payload,flags\n");
  for(u32 i=0;i<nrec;i++){ rec_t*r=&recs[i]; fprintf(o,"%s,%s,%llu,%llu,%u,%u,%u,%u,%u,%u,%u,0x%02x\n",r->dir?"s2c":"c2s",vname[r->verdict],(unsigned long long)r->tin,(unsigned long long)r->tout,r->len,r->ipid,r->sport,r->dport,r->seq,r->ack,r->pay,r->flags); }
  fclose(o); unlink(av[3]); return 0;
}
