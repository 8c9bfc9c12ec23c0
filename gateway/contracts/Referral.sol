// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// @title Referral records, as the exchange reads them (`account.md` 12).
/// @dev Holds and pays nothing. Operators write what the exchange computed; whoever is unknown has zeros.
contract Referral {
    /// @dev What a user has claimed, and who referred it.
    struct Rebate {
        uint256 claimedUsd;
        uint64 nonce;
        bytes32 referralCode;
        address referrer;
        uint8 tierLevel;
    }

    /// @dev The terms of a user's referral, in basis points.
    struct Terms {
        bytes32 code;
        address referrer;
        uint16 totalRebateBps;
        uint16 traderDiscountBps;
        uint16 affiliateRewardBps;
    }

    event RebateSet(address indexed account);
    event TermsSet(address indexed account);
    event OperatorSet(address indexed operator, bool isOperator);

    error NotOwner();
    error NotOperator();
    error NonceInvalid();

    address public immutable owner;
    mapping(address account => Rebate) public userRebates;
    mapping(address account => Terms) public referralInfo;
    mapping(address => bool) public isOperator;

    modifier onlyOperator() {
        require(isOperator[msg.sender], NotOperator());
        _;
    }

    constructor() {
        owner = msg.sender;
    }

    /// @notice US dollars with 6 decimals that `account` has claimed.
    function claimed(address account) external view returns (uint256) {
        return userRebates[account].claimedUsd;
    }

    function setOperator(address operator, bool isOperator_) external {
        require(msg.sender == owner, NotOwner());
        isOperator[operator] = isOperator_;
        emit OperatorSet(operator, isOperator_);
    }

    /// @notice Writes a record whole. The nonce counts claims: it never falls.
    function setRebate(address account, Rebate calldata rebate) external onlyOperator {
        require(rebate.nonce >= userRebates[account].nonce, NonceInvalid());
        userRebates[account] = rebate;
        emit RebateSet(account);
    }

    function setTerms(address account, Terms calldata terms) external onlyOperator {
        referralInfo[account] = terms;
        emit TermsSet(account);
    }
}
