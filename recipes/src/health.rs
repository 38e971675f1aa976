//! A real gRPC server on loopback: the health service, which answers as its script says.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::net::TcpListener;
use tonic::codegen::BoxStream;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// Starts the server and returns its address as a URL. It refuses with these statuses, one after
/// the other, and then says that it is serving.
pub async fn server(refusals: impl IntoIterator<Item = Status>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port on loopback");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let service = Scripted(Mutex::new(refusals.into_iter().collect()));
    let served = Server::builder()
        .serve_with_incoming(HealthServer::new(service), TcpIncoming::from(listener));
    tokio::spawn(served);
    url
}

struct Scripted(Mutex<VecDeque<Status>>);

#[tonic::async_trait]
impl Health for Scripted {
    async fn check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        match self.0.lock().expect("no answer panics").pop_front() {
            Some(status) => Err(status),
            None => {
                Ok(Response::new(HealthCheckResponse { status: ServingStatus::Serving.into() }))
            }
        }
    }

    type WatchStream = BoxStream<HealthCheckResponse>;

    async fn watch(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("only `check` is asked here"))
    }
}
